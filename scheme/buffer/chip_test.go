package buffer

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

func newChipOn(t interface{ Fatal(...any) }, l *mmu.Ledger, p *ChipParams, profiles ...Profile) *chip {
	s, err := newChip(p, Env{View: l.View(), Profiles: profiles})
	if err != nil {
		t.Fatal(err)
	}
	l.KeepEgress(p.EgressMinimum)
	return s.(*chip)
}

func divided(parts int, cell units.Bytes) *mmu.Ledger {
	spec := mmu.Spec{Ports: 4, Size: 40000, Shared: 32000, Parts: parts, Cell: cell}
	spec.Kinds[0], spec.Kinds[lossless], spec.Kinds[lossy] = mmu.Control, mmu.Lossless, mmu.Lossy
	return mmu.NewLedger(spec)
}

// fill stores frames of 100 B of a class of port 0 until one does not fit.
func fill(l *mmu.Ledger, p *chip) (held units.Bytes) {
	a := arrival(lossless, 100)
	for p.Fits(0, l.View(), a) && p.Admits(l.View(), a) {
		l.Charge(a, mmu.Shared)
		held += a.Bytes
	}
	return held
}

// A queue that is alone reaches its threshold at S alpha / (1 + alpha), of its part: with
// frames of 100 B, S = 32,000 B and alpha 1 at 16,000 B; in four parts of 8000 B at 4000
// B; with alpha 1/4 at 6400 B; where its port says 1/8, at 32,000 / 9 = 3555 B: the 36th
// frame would take the queue to 3600 B, above (32,000 - 3600) / 8 = 3550 B, so 3500 B.
// With two levels, ap = 1 and aq = 1: 32,000 / 3 = 10,666 B: with 10,600 B 21,400 B are
// free, of which the port has 10,800 B left; with 10,700 B 21,300 B, and 10,600 B left.
func TestChipAlone(t *testing.T) {
	for _, c := range []struct {
		name     string
		parts    int
		params   ChipParams
		profiles []Profile
		want     units.Bytes
	}{
		{"undivided", 1, ChipParams{Alpha: ratio(1, 1)}, nil, 16000},
		{"four parts", 4, ChipParams{Alpha: ratio(1, 1)}, nil, 4000},
		{"a quarter", 1, ChipParams{Alpha: ratio(1, 4)}, nil, 6400},
		{"alpha of the port", 1, ChipParams{Alpha: ratio(1, 1)}, []Profile{{Alpha: ratio(1, 8)}, {}, {}, {}}, 3500},
		{"two levels", 1, ChipParams{Alpha: ratio(1, 1), PortAlpha: ratio(1, 1)}, nil, 10600},
	} {
		c.params.AlphaLossy = ratio(1, 1)
		l := divided(c.parts, 1)
		p := newChipOn(t, l, &c.params, c.profiles...)
		if got := fill(l, p); got != c.want {
			t.Errorf("%s: %d B, want %d", c.name, got, c.want)
		}
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	}
}

// No further frame of 64 B fits from 4000 of 8000 B on, half of which are free: 4064 B are
// more than 3936 B. With 3900 B it does: 3964 <= 4036.
func TestChipReached(t *testing.T) {
	l := divided(4, 1)
	p := newChipOn(t, l, &ChipParams{Alpha: ratio(1, 1), AlphaLossy: ratio(1, 1)})
	l.Charge(arrival(lossless, 3900), mmu.Shared)
	if p.Reached(l.View(), 0, lossless) {
		t.Error("reached with 3900 of 4100 B")
	}
	l.Charge(arrival(lossless, 100), mmu.Shared)
	if q, xoff := p.Level(0, l.View(), 0, lossless); q != 4000 || xoff != 4000 || !p.Reached(l.View(), 0, lossless) {
		t.Errorf("not reached with %d of %d B", q, xoff)
	}
	if q, xoff := p.Level(0, l.View(), 1, lossless); q != 0 || xoff != 8000 {
		t.Errorf("another part: %d of %d B, want 0 of 8000", q, xoff)
	}
}

// Two queues of a port with two levels share what the port may hold: ap 1/2, aq 1, S
// 32,000 B. With 4000 B in the first, the port may hold 14,000 B, and either queue
// 14,000 - 4000 = 10,000 B.
func TestChipTwoLevels(t *testing.T) {
	l := divided(1, 1)
	p := newChipOn(t, l, &ChipParams{Alpha: ratio(1, 1), PortAlpha: ratio(1, 2), AlphaLossy: ratio(1, 1)})
	l.Charge(arrival(lossless, 4000), mmu.Shared)
	if _, xoff := p.Level(0, l.View(), 0, lossless); xoff != 10000 {
		t.Errorf("threshold %d B, want 10,000", xoff)
	}
	if _, xoff := p.Level(0, l.View(), 2, lossless); xoff != 14000 {
		t.Errorf("threshold on another port %d B, want 14,000", xoff)
	}
}

// The egress side: a pool of 2000 B beside a minimum of 500 B per queue.
func TestChipEgress(t *testing.T) {
	for _, c := range []struct {
		name   string
		class  uint8
		params ChipParams
		want   units.Bytes // that one queue takes of frames of 100 B
	}{
		{"no pool", lossless, ChipParams{Alpha: ratio(8, 1)}, 28400}, // 32,000 x 8/9 = 28,444
		{"pool", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, EgressLossless: 2000}, 2500},
		{"limit", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, EgressLossless: 2000, LosslessLimit: 1250}, 1700},
		{"limit without a pool", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, LosslessLimit: 1250}, 1700},
		{"alpha", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, EgressLossless: 2000, LosslessAlpha: ratio(1, 1)}, 1500}, // 1000 beyond, 1000 free
		{"lossy, no pool", lossy, ChipParams{}, 16000},
		{"lossy pool", lossy, ChipParams{EgressMinimum: 500, EgressLossy: 2000}, 1500},
		{"lossy limit", lossy, ChipParams{EgressMinimum: 500, EgressLossy: 2000, LossyLimit: 1900}, 2400},
		{"lossy at the ingress", lossy, ChipParams{IngressLossy: 1100}, 1100},
	} {
		l := divided(1, 1)
		if c.params.Alpha.Den == 0 {
			c.params.Alpha = ratio(1, 1)
		}
		c.params.AlphaLossy = ratio(1, 1)
		p := newChipOn(t, l, &c.params)
		a, held := arrival(c.class, 100), units.Bytes(0)
		for p.Admits(l.View(), a) && p.Fits(0, l.View(), a) {
			l.Charge(a, mmu.Shared)
			held += a.Bytes
		}
		if held != c.want {
			t.Errorf("%s: %d B, want %d", c.name, held, c.want)
		}
		if c.class == lossless && c.params.Refuses() != (c.params.EgressLossless+c.params.LosslessLimit > 0) {
			t.Errorf("%s: refuses is %v", c.name, c.params.Refuses())
		}
	}
}

func TestChipBadParams(t *testing.T) {
	l := divided(1, 1)
	for want, p := range map[string]*ChipParams{
		"egress_lossy is -1B; allowed: 0B": {EgressLossy: -1}, "ingress_lossy": {IngressLossy: mmu.MaxDivided + 1},
		"are both given": {EgressLossless: 1, LosslessLimit: 1, LosslessAlpha: ratio(1, 1)}, "together with egress_lossless": {LosslessAlpha: ratio(1, 1)},
	} {
		p.Alpha, p.AlphaLossy = ratio(1, 1), ratio(1, 1)
		if _, err := newChip(p, Env{View: l.View()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// In a buffer beyond 32 bits no port and no queue is filled beyond them.
func TestChipLarge(t *testing.T) {
	spec := mmu.Spec{Ports: 2, Size: 8 * units.GiB, Shared: 8 * units.GiB, Kinds: [mmu.Classes]mmu.Kind{lossless: mmu.Lossless}}
	l := mmu.NewLedger(spec)
	p := newChipOn(t, l, &ChipParams{Alpha: ratio(64, 1), AlphaLossy: ratio(1, 1)})
	a := arrival(lossless, units.GiB)
	l.Charge(a, mmu.Shared)
	if p.Fits(0, l.View(), a) || p.Admits(l.View(), a) {
		t.Error("2 GiB in one queue are accepted")
	}
	a.Bytes--
	if !p.Fits(0, l.View(), a) || !p.Admits(l.View(), a) {
		t.Error("a byte less is refused")
	}
}

// Whatever is admitted fits its part, its threshold and its egress pool.
func TestChipNeverBeyond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := divided(rapid.IntRange(1, 4).Draw(t, "parts"), 100)
		p := newChipOn(t, l, &ChipParams{
			Alpha: ratio(rapid.Int64Range(1, 64).Draw(t, "alpha"), 8), AlphaLossy: ratio(2, 1), EgressMinimum: 300,
			EgressLossless: units.Bytes(rapid.IntRange(1000, 30000).Draw(t, "pool")), EgressLossy: 4000,
		})
		v := l.View()
		for range rapid.IntRange(1, 100).Draw(t, "frames") {
			port := rapid.IntRange(0, 3)
			a := arrival(uint8(rapid.IntRange(1, 2).Draw(t, "class")), l.Cells(units.Bytes(rapid.IntRange(1, 1500).Draw(t, "bytes"))))
			a.In, a.Out = port.Draw(t, "in"), port.Draw(t, "out")
			before, _ := p.Level(0, v, a.In, lossless)
			_, xoff := p.Level(0, v, a.In, lossless)
			if !p.Admits(v, a) || !p.Fits(0, v, a) {
				continue
			}
			if a.Kind == mmu.Lossless && before+a.Bytes > xoff {
				t.Fatalf("%d B admitted to %d of %d B", a.Bytes, before, xoff)
			}
			l.Charge(a, mmu.Shared)
			if err := l.Check(); err != nil {
				t.Fatal(err)
			}
			if got := v.EgressPool(mmu.Lossless); got > p.params.EgressLossless {
				t.Fatalf("a pool of %d B holds %d B", p.params.EgressLossless, got)
			}
			if got := v.EgressPool(mmu.Lossy); got > 4000 {
				t.Fatalf("a pool of 4000 B holds %d B", got)
			}
		}
	})
}
