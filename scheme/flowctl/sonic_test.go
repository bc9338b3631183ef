package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// The rules of SONiC on one queue without a private segment: a shared pool of
// 20,000 B, alpha 1/4, headroom 3000 B, frames of 1000 B.
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
	// Counted first: the n-th frame is held against (20,000 - 1000 n) / 4. The
	// fourth fits, 4000 <= 4000; the fifth does not, 5000 > 3750.
	for range 4 {
		q.arrive(mmu.Shared, false)
	}
	q.arrive(mmu.Headroom, true)
	// While headroom is in use everything goes there, although after departures of
	// other queues a frame might fit again.
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
