package buffer

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

const (
	lossless = 1
	lossy    = 2
)

func newLedger() *mmu.Ledger {
	spec := mmu.Spec{Ports: 2, Size: 40000, Shared: 32000}
	spec.Kinds[0], spec.Kinds[lossless], spec.Kinds[lossy] = mmu.Control, mmu.Lossless, mmu.Lossy
	return mmu.NewLedger(spec)
}

func arrival(class uint8, b units.Bytes) *mmu.Arrival {
	kinds := [3]mmu.Kind{mmu.Control, mmu.Lossless, mmu.Lossy}
	return &mmu.Arrival{In: 0, Out: 1, Bytes: b, Class: class, Kind: kinds[class]}
}

// alpha 1/2 for lossless ingress queues, 1/4 for lossy egress queues, 32,000 B.
func TestDTSteps(t *testing.T) {
	p, err := newDT(&DTParams{Alpha: units.Ratio{Num: 1, Den: 2}, AlphaLossy: units.Ratio{Num: 1, Den: 4}}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger()
	fits := func(class uint8, b units.Bytes, want bool) {
		t.Helper()
		if got := p.Fits(0, l.View(), arrival(class, b)); got != want {
			t.Errorf("class %d, %d B: fits is %v", class, b, got)
		}
	}
	level := func(q, xoff units.Bytes) {
		t.Helper()
		if gotQ, gotX := p.Level(0, l.View(), 0, lossless); gotQ != q || gotX != xoff {
			t.Errorf("level %d of %d, want %d of %d", gotQ, gotX, q, xoff)
		}
	}
	level(0, 16000)             // 32,000 / 2
	fits(lossless, 16000, true) // exactly the threshold
	fits(lossless, 16001, false)
	fits(lossy, 8000, true) // 32,000 / 4
	fits(lossy, 8001, false)
	l.Charge(arrival(lossless, 12000), mmu.Shared) // 20,000 free
	level(12000, 10000)
	fits(lossless, 1, false)                   // 12,001 > 10,000
	fits(lossy, 5000, true)                    // 20,000 / 4, its egress queue is empty
	l.Charge(arrival(lossy, 4000), mmu.Shared) // 16,000 free
	level(12000, 8000)
	fits(lossy, 1, false)               // 4001 > 4000
	l.Release(arrival(lossless, 12000)) // 28,000 free
	level(0, 14000)
	fits(lossy, 3000, true) // 4000 + 3000 = 28,000 / 4
	fits(lossy, 3001, false)
}

// A queue that is alone settles at alpha B / (1 + alpha). With alpha 1/2 and frames of 100 B, the
// last frame that fits makes 10,700 <= (32,000 - 10,600) / 2 = 10,700. The next would make 10,800
// > (32,000 - 10,700) / 2 = 10,650.
func TestDTSteadyState(t *testing.T) {
	p, err := newDT(&DTParams{Alpha: units.Ratio{Num: 1, Den: 2}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger()
	for p.Fits(0, l.View(), arrival(lossless, 100)) {
		l.Charge(arrival(lossless, 100), mmu.Shared)
	}
	if q := l.View().Used(mmu.Shared); q != 10700 {
		t.Errorf("settles at %d B, want 10,700", q)
	}
}

// Denominators that are powers of two use a shift; others divide. Both round down.
func TestAlpha(t *testing.T) {
	for _, c := range []struct {
		r       units.Ratio
		b, want units.Bytes
	}{{units.Ratio{Num: 1, Den: 16}, 1000, 62}, {units.Ratio{Num: 3, Den: 8}, 1001, 375}, {units.Ratio{Num: 2, Den: 3}, 1000, 666}, {units.Ratio{Num: 4, Den: 1}, 5, 20}} {
		a := newAlpha(c.r)
		if got := a.of(c.b); got != c.want || c.r.Of(c.b) != c.want {
			t.Errorf("%v of %d is %d, want %d", c.r, c.b, got, c.want)
		}
	}
}

func TestStaticSteps(t *testing.T) {
	if _, err := newStatic(&StaticParams{}, Env{}); err == nil {
		t.Error("a zero limit is accepted")
	}
	p, err := newStatic(&StaticParams{Limit: 20000}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger()
	l.Charge(arrival(lossless, 19000), mmu.Shared) // 13,000 free
	for _, c := range []struct {
		class uint8
		b     units.Bytes
		want  bool
	}{{lossless, 1000, true}, {lossless, 1001, false}, {lossy, 13000, true}, {lossy, 13001, false}} {
		if got := p.Fits(0, l.View(), arrival(c.class, c.b)); got != c.want {
			t.Errorf("class %d, %d B: fits is %v", c.class, c.b, got)
		}
	}
	if q, xoff := p.Level(0, l.View(), 0, lossless); q != 19000 || xoff != 20000 {
		t.Errorf("level %d of %d", q, xoff)
	}
}

// The share of a Proportional policy agrees with Fits: the same answer for lossless frames, and
// never more than the free bytes for control frames.
func TestShareAgreesWithFits(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		den := int64(1) << rapid.IntRange(0, 6).Draw(t, "shift")
		p, err := newDT(&DTParams{Alpha: units.Ratio{Num: rapid.Int64Range(1, den).Draw(t, "num"), Den: den}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		share, ok := p.(Proportional).Share()
		if !ok {
			t.Fatalf("%d/%d has no share", share.Num, den)
		}
		l := newLedger()
		for range rapid.IntRange(0, 30).Draw(t, "frames") {
			a := arrival(uint8(rapid.IntRange(0, 2).Draw(t, "class")), units.Bytes(rapid.IntRange(1, 3000).Draw(t, "bytes")))
			queue, _, free := l.Room(a.In, a.Class)
			within := queue+a.Bytes <= share.Of(free)
			if a.Kind == mmu.Lossless && within != p.Fits(0, l.View(), a) {
				t.Fatalf("within the share: %v, fits: %v", within, !within)
			}
			if within && a.Bytes > l.View().SharedFree() {
				t.Fatalf("%d B within the share, %d B free", a.Bytes, l.View().SharedFree())
			}
			l.Charge(a, mmu.Shared)
		}
	})
}

// Shares above one, and shares that are not binary fractions, are not offered.
func TestShareNotOffered(t *testing.T) {
	for _, r := range []units.Ratio{{Num: 2, Den: 1}, {Num: 1, Den: 3}, {Num: 5, Den: 4}} {
		p, err := newDT(&DTParams{Alpha: r, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.(Proportional).Share(); ok {
			t.Errorf("%d/%d is offered", r.Num, r.Den)
		}
	}
}

// Port 0 may store 6,000 B of lossless frames, port 1 9,000 B of lossy ones.
func TestStaticLimitsOfPorts(t *testing.T) {
	p, err := newStatic(&StaticParams{Limit: 1000}, Env{Ports: []any{&StaticParams{Limit: 6000}, &StaticParams{Limit: 9000}}})
	if err != nil {
		t.Fatal(err)
	}
	v := newLedger().View()
	for class, limit := range map[uint8]units.Bytes{lossless: 6000, lossy: 9000} {
		if !p.Fits(0, v, arrival(class, limit)) || p.Fits(0, v, arrival(class, limit+1)) {
			t.Errorf("class %d: the limit is not %d", class, limit)
		}
	}
	if _, limit := p.(Dropping).LossyLevel(0, v, arrival(lossy, 1)); limit != 9000 {
		t.Errorf("limit of lossy frames is %d, want 9000", limit)
	}
	if _, err := newStatic(&StaticParams{Limit: 1000}, Env{Ports: []any{&StaticParams{}}}); err == nil {
		t.Error("a limit of zero is accepted for a port")
	}
}
