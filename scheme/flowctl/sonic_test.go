package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// The rules of SONiC on one queue without a private segment: a shared pool of 20,000 B, alpha
// 1/4, headroom 3000 B, frames of 1000 B.
func TestSONiCSteps(t *testing.T) {
	p := newFakePort()
	p.ledger = mmu.NewLedger(mmu.Spec{Size: 30_000, Shared: 20_000, Ports: 2, Kinds: [mmu.Classes]mmu.Kind{1: mmu.Lossless}})
	dt, err := buffer.Policies.Get("dt")
	if err != nil {
		t.Fatal(err)
	}
	if p.policy, err = dt.New(&buffer.DTParams{Alpha: units.Ratio{Num: 1, Den: 4}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, buffer.Env{}); err != nil {
		t.Fatal(err)
	}
	scheme, err := newSONiC(&SONiCParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 3000}, Xon: 1248, Offset: 2496})
	if err != nil {
		t.Fatal(err)
	}
	r := scheme.Receiver(p).(*sonicReceiver)
	q := newQueueSteps(t, p, r, r.Paused)
	// Counted first: the n-th frame is compared with (20,000 - 1000 n) / 4. The fourth fits, 4000
	// <= 4000; the fifth does not, 5000 > 3750.
	for range 4 {
		q.arrive(mmu.Shared, false)
	}
	q.arrive(mmu.Headroom, true)
	// While headroom is in use all frames go there, even if a frame would fit again after
	// departures of other queues.
	q.arrive(mmu.Headroom, true)
	q.arrive(mmu.Headroom, true)
	q.arrive(mmu.Drop, true)
	for range 3 {
		q.leave(true) // headroom first
	}
	// 3000 B: 3000 + 2496 > (20,000 - 3000) / 4 = 4250. 2000 B: 4496 <= 4500.
	q.leave(true)
	q.leave(false)
	q.leave(false)
	q.leave(false)
	if _, err := newSONiC(&SONiCParams{Xon: -1}); err == nil {
		t.Error("a negative xon is accepted")
	}
}

// chip returns a port of a switch with the policy chip, cells of 100 B and alpha 1: two lossless
// queues, headroom of 300 B each.
func chip(t *testing.T, spec mmu.Spec, params SONiCParams) (*fakePort, *sonicReceiver) {
	t.Helper()
	p := newFakePort()
	spec.Ports, spec.Cell = 2, 100
	spec.Kinds[1], spec.Kinds[2] = mmu.Lossless, mmu.Lossless
	p.ledger = mmu.NewLedger(spec)
	e, err := buffer.Policies.Get("chip")
	if err != nil {
		t.Fatal(err)
	}
	if p.policy, err = e.New(e.Params(), buffer.Env{View: p.View()}); err != nil {
		t.Fatal(err)
	}
	p.spec.Pooled = spec.Pool > 0
	params.Headroom = link.Headroom{Rule: link.RuleBytes, Bytes: 300}
	scheme, err := newSONiC(&params)
	if err != nil {
		t.Fatal(err)
	}
	return p, scheme.Receiver(p).(*sonicReceiver)
}

// The measurement done on real switches: frames of one cell to a port that does not send. 8 cells
// of minimum, then S / 2 = 10 of 20 cells. The 18th frame fills the threshold and pauses, the
// next three use headroom, the 22nd is dropped. The queue resumes 400 B below the threshold: with
// 8 cells shared 12 are free, 8 + 4 <= 12.
func TestSONiCChip(t *testing.T) {
	p, r := chip(t, mmu.Spec{Size: 10_000, Shared: 2000, Minimum: []units.Bytes{800, 0}}, SONiCParams{Offset: 400})
	q := newQueueSteps(t, p, r, r.Paused)
	q.frame.Bytes = 100
	for range 8 {
		q.arrive(mmu.Private, false)
	}
	for range 9 {
		q.arrive(mmu.Shared, false)
	}
	q.arrive(mmu.Shared, true)
	for range 3 {
		q.arrive(mmu.Headroom, true)
	}
	q.arrive(mmu.Drop, true)
	for range 4 { // headroom first, then 9 cells shared: 9 + 4 > 11
		q.leave(true)
	}
	q.leave(false)
}

// Resume by xon, with an offset that is never reached: below 500 B, at 4 cells.
func TestSONiCXon(t *testing.T) {
	p, r := chip(t, mmu.Spec{Size: 10_000, Shared: 2000}, SONiCParams{Xon: 500, Offset: 5000})
	q := newQueueSteps(t, p, r, r.Paused)
	q.frame.Bytes = 100
	for i := range 10 {
		q.arrive(mmu.Shared, i == 9)
	}
	for range 5 {
		q.leave(true)
	}
	q.leave(false)
}

// A pool of 5 cells, of which each of two queues may use 3: the first takes 3, the second gets
// the last 2. With borrowing, the first takes 5.
func TestSONiCPool(t *testing.T) {
	for _, c := range []struct {
		borrow        bool
		pool          units.Bytes
		first, second int // cells of headroom
	}{{false, 500, 3, 2}, {true, 500, 5, 0}, {true, 1000, 6, 0}, {false, 1000, 3, 3}} {
		p, r := chip(t, mmu.Spec{Size: 10_000, Shared: 2000, Pool: c.pool}, SONiCParams{Borrow: c.borrow})
		var got [3]int
		for class := uint8(1); class <= 2; class++ {
			a := &mmu.Arrival{In: 0, Out: 1, Bytes: 100, Class: class, Kind: mmu.Lossless}
			for range 40 {
				s := r.Place(0, a)
				if s == mmu.Drop {
					break
				}
				p.ledger.Charge(a, s)
				r.Charged(0, a, s)
				if s == mmu.Headroom {
					got[class]++
				}
			}
			if !r.Paused().Has(class) {
				t.Errorf("class %d is not paused", class)
			}
		}
		if got[1] != c.first || got[2] != c.second {
			t.Errorf("%+v: %d and %d cells of headroom", c, got[1], got[2])
		}
		if err := p.ledger.Check(); err != nil {
			t.Error(err)
		}
	}
}

// A port of a switch with a pool reserves no headroom.
func TestSONiCReserve(t *testing.T) {
	scheme, err := newSONiC(&SONiCParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 300}, Minimum: 800, Alpha: units.Ratio{Num: 1, Den: 8}})
	if err != nil {
		t.Fatal(err)
	}
	port := link.Port{Lossless: 0b110}
	if got := scheme.Reserve(&port); got != 600 {
		t.Errorf("reserves %d B, want 2 x 300", got)
	}
	port.Pooled = true
	if got := scheme.Reserve(&port); got != 0 {
		t.Errorf("reserves %d B in addition to a pool", got)
	}
	if got := scheme.Properties().Profile; got != (buffer.Profile{Minimum: 800, Alpha: units.Ratio{Num: 1, Den: 8}}) {
		t.Errorf("profile %+v", got)
	}
	if got := (&sih{}).Properties().Profile; got != (buffer.Profile{}) {
		t.Errorf("profile of pfc %+v", got)
	}
	for _, p := range []*SONiCParams{{Minimum: -1}, {Minimum: mmu.MaxBuffer + 1}, {Offset: -1}} {
		if _, err := newSONiC(p); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

// A frame of 400 B fits neither a queue of 800 B, with 2000 B shared and alpha 1, nor the pool of
// 300 B. It is dropped, and the queue still pauses. An empty queue does not: nothing would turn
// it ON again.
func TestSONiCPoolIsExhausted(t *testing.T) {
	p, r := chip(t, mmu.Spec{Size: 10_000, Shared: 2000, Pool: 300}, SONiCParams{})
	q := newQueueSteps(t, p, r, r.Paused)
	q.frame.Bytes = 400
	q.arrive(mmu.Shared, false)
	q.arrive(mmu.Shared, false)
	q.arrive(mmu.Drop, true)
	q.frame.Bytes = 1200
	p, r = chip(t, mmu.Spec{Size: 10_000, Shared: 2000, Pool: 300}, SONiCParams{})
	q.port, q.recv, q.paused = p, r, r.Paused
	q.arrive(mmu.Drop, false)
}
