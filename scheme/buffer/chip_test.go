package buffer

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// newChipOn returns a chip policy for a ledger.
func newChipOn(t interface{ Fatal(...any) }, l *mmu.Ledger, p *ChipParams, profiles ...Profile) *chip {
	s, err := newChip(p, Env{View: l.View(), Profiles: profiles})
	if err != nil {
		t.Fatal(err)
	}
	l.KeepEgress(p.EgressMinimum)
	return s.(*chip)
}

// newPartitionedLedger returns a ledger of four ports with 32,000 B shared.
func newPartitionedLedger(parts int, cell units.Bytes) *mmu.Ledger {
	spec := mmu.Spec{Ports: 4, Size: 40000, Shared: 32000, Parts: parts, Cell: cell}
	spec.Kinds[0], spec.Kinds[lossless], spec.Kinds[lossy] = mmu.Control, mmu.Lossless, mmu.Lossy
	return mmu.NewLedger(spec)
}

// fill stores lossless frames of 100 B from port 0 until one does not fit.
func fill(l *mmu.Ledger, p *chip) (stored units.Bytes) {
	a := arrival(lossless, 100)
	for p.Fits(0, l.View(), a) && p.Admits(l.View(), a) {
		l.Charge(a, mmu.Shared)
		stored += a.Bytes
	}
	return stored
}

// A single queue reaches its threshold at S alpha / (1 + alpha) of its partition, in
// frames of 100 B. S = 32,000 B and alpha 1: 16,000 B; in four partitions of 8000 B: 4000 B;
// alpha 1/4: 6400 B. If its port sets 1/8: 32,000 / 9 = 3555 B. The 36th frame would take the
// queue to 3600 B, above (32,000 - 3600) / 8 = 3550 B, so 3500 B. With two levels, ap = 1 and aq
// = 1: 32,000 / 3 = 10,666 B. With 10,600 B stored, 21,400 B are free, and the port may take
// 10,800 B more. With 10,700 B stored, 21,300 B are free, and the port may take 10,600 B more.
func TestChipSingleQueue(t *testing.T) {
	for _, c := range []struct {
		name     string
		parts    int
		params   ChipParams
		profiles []Profile
		want     units.Bytes
	}{
		{"one partition", 1, ChipParams{Alpha: ratio(1, 1)}, nil, 16000},
		{"four partitions", 4, ChipParams{Alpha: ratio(1, 1)}, nil, 4000},
		{"alpha 1/4", 1, ChipParams{Alpha: ratio(1, 4)}, nil, 6400},
		{"port alpha", 1, ChipParams{Alpha: ratio(1, 1)}, []Profile{{Alpha: ratio(1, 8)}, {}, {}, {}}, 3500},
		{"two levels", 1, ChipParams{Alpha: ratio(1, 1), PortAlpha: ratio(1, 1)}, nil, 10600},
	} {
		c.params.AlphaLossy = ratio(1, 1)
		l := newPartitionedLedger(c.parts, 1)
		p := newChipOn(t, l, &c.params, c.profiles...)
		if got := fill(l, p); got != c.want {
			t.Errorf("%s: stored %d B, want %d", c.name, got, c.want)
		}
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	}
}

// With 4000 of 8000 B stored, no further frame of 64 B fits: 4064 B are more than the 3936 B that
// would be free. With 3900 B stored, one fits: 3964 <= 4036.
func TestChipReached(t *testing.T) {
	l := newPartitionedLedger(4, 1)
	p := newChipOn(t, l, &ChipParams{Alpha: ratio(1, 1), AlphaLossy: ratio(1, 1)})
	l.Charge(arrival(lossless, 3900), mmu.Shared)
	if p.Reached(l.View(), 0, lossless) {
		t.Error("threshold reached with 3900 of 4100 B")
	}
	l.Charge(arrival(lossless, 100), mmu.Shared)
	if q, xoff := p.Level(0, l.View(), 0, lossless); q != 4000 || xoff != 4000 || !p.Reached(l.View(), 0, lossless) {
		t.Errorf("threshold not reached with %d of %d B", q, xoff)
	}
	if q, xoff := p.Level(0, l.View(), 1, lossless); q != 0 || xoff != 8000 {
		t.Errorf("another partition: %d of %d B, want 0 of 8000", q, xoff)
	}
}

// Two queues of a port with two levels share the threshold of the port: ap 1/2, aq 1, S 32,000 B.
// With 4000 B in the first queue, the port may store 14,000 B, and either queue 14,000 - 4000 =
// 10,000 B.
func TestChipTwoLevels(t *testing.T) {
	l := newPartitionedLedger(1, 1)
	p := newChipOn(t, l, &ChipParams{Alpha: ratio(1, 1), PortAlpha: ratio(1, 2), AlphaLossy: ratio(1, 1)})
	l.Charge(arrival(lossless, 4000), mmu.Shared)
	if _, xoff := p.Level(0, l.View(), 0, lossless); xoff != 10000 {
		t.Errorf("threshold %d B, want 10,000", xoff)
	}
	if _, xoff := p.Level(0, l.View(), 2, lossless); xoff != 14000 {
		t.Errorf("threshold on another port %d B, want 14,000", xoff)
	}
}

// The egress side: a pool of 2000 B and a minimum of 500 B per queue.
func TestChipEgress(t *testing.T) {
	for _, c := range []struct {
		name   string
		class  uint8
		params ChipParams
		want   units.Bytes // stored by one queue, in frames of 100 B
	}{
		{"no pool", lossless, ChipParams{Alpha: ratio(8, 1)}, 28400}, // 32,000 x 8/9 = 28,444
		{"pool", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, EgressLossless: 2000}, 2500},
		{"limit", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, EgressLossless: 2000, LosslessLimit: 1250}, 1700},
		{"limit without a pool", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, LosslessLimit: 1250}, 1700},
		{"alpha", lossless, ChipParams{Alpha: ratio(8, 1), EgressMinimum: 500, EgressLossless: 2000, LosslessAlpha: ratio(1, 1)}, 1500}, // 1000 B above the minimum, 1000 B free
		{"lossy, no pool", lossy, ChipParams{}, 16000},
		{"lossy pool", lossy, ChipParams{EgressMinimum: 500, EgressLossy: 2000}, 1500},
		{"lossy limit", lossy, ChipParams{EgressMinimum: 500, EgressLossy: 2000, LossyLimit: 1900}, 2400},
		{"lossy at the ingress", lossy, ChipParams{IngressLossy: 1100}, 1100},
	} {
		l := newPartitionedLedger(1, 1)
		if c.params.Alpha.Den == 0 {
			c.params.Alpha = ratio(1, 1)
		}
		c.params.AlphaLossy = ratio(1, 1)
		p := newChipOn(t, l, &c.params)
		a, stored := arrival(c.class, 100), units.Bytes(0)
		for p.Admits(l.View(), a) && p.Fits(0, l.View(), a) {
			l.Charge(a, mmu.Shared)
			stored += a.Bytes
		}
		if stored != c.want {
			t.Errorf("%s: stored %d B, want %d", c.name, stored, c.want)
		}
	}
}

func TestChipBadParams(t *testing.T) {
	l := newPartitionedLedger(1, 1)
	for want, p := range map[string]*ChipParams{
		"egress_lossy is -1B (expected 0B": {EgressLossy: -1}, "ingress_lossy": {IngressLossy: mmu.MaxDivided + 1},
		"are both set": {EgressLossless: 1, LosslessLimit: 1, LosslessAlpha: ratio(1, 1)}, "is set without egress_lossless": {LosslessAlpha: ratio(1, 1)},
	} {
		p.Alpha, p.AlphaLossy = ratio(1, 1), ratio(1, 1)
		if _, err := newChip(p, Env{View: l.View()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

// In a buffer too large for 32-bit counters, no port and no queue exceeds 32 bits.
func TestChipLarge(t *testing.T) {
	spec := mmu.Spec{Ports: 2, Size: 8 * units.GiB, Shared: 8 * units.GiB, Kinds: [mmu.Classes]mmu.Kind{lossless: mmu.Lossless}}
	l := mmu.NewLedger(spec)
	p := newChipOn(t, l, &ChipParams{Alpha: ratio(64, 1), AlphaLossy: ratio(1, 1)})
	a := arrival(lossless, units.GiB)
	l.Charge(a, mmu.Shared)
	if p.Fits(0, l.View(), a) || p.Admits(l.View(), a) {
		t.Error("2 GiB in one queue were accepted")
	}
	a.Bytes--
	if !p.Fits(0, l.View(), a) || !p.Admits(l.View(), a) {
		t.Error("2 GiB - 1 B in one queue were refused")
	}
}

// Every admitted frame fits its partition, its threshold and its egress pool.
func TestChipStaysWithinLimits(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		l := newPartitionedLedger(rapid.IntRange(1, 4).Draw(t, "parts"), 100)
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
				t.Fatalf("a pool of %d B stores %d B", p.params.EgressLossless, got)
			}
			if got := v.EgressPool(mmu.Lossy); got > 4000 {
				t.Fatalf("a pool of 4000 B stores %d B", got)
			}
		}
	})
}
