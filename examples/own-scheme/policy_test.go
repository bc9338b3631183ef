package main

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// TestFairConforms checks the requirements of the plug point and the promises of the entry,
// with random arrivals.
func TestFairConforms(t *testing.T) {
	e, err := buffer.Policies.Get("fair")
	if err != nil {
		t.Fatal(err)
	}
	conformance.Policy(t, e)
}

// TestFairByHand shares 12,000 B: one active queue may store 12,000 / (1 + 1) = 6000 B, two
// may store 4000 B each.
func TestFairByHand(t *testing.T) {
	ledger := mmu.NewLedger(mmu.Spec{Ports: 2, Size: 20000, Shared: 12000, Kinds: [mmu.Classes]mmu.Kind{1: mmu.Lossless}})
	v := ledger.View()
	p, err := newFair(&FairParams{Spare: 1}, buffer.Env{View: v})
	if err != nil {
		t.Fatal(err)
	}
	arrive := func(in int) {
		a := &mmu.Arrival{In: in, Out: 1, Class: 1, Bytes: 1000, Kind: mmu.Lossless}
		ledger.Charge(a, mmu.Shared)
		p.(buffer.Observer).Enqueued(0, v, a)
	}
	arrive(0)
	if q, xoff := p.Level(0, v, 0, 1); q != 1000 || xoff != 6000 {
		t.Errorf("got %d of %d B, want 1000 of 6000", q, xoff)
	}
	arrive(1)
	if _, xoff := p.Level(0, v, 0, 1); xoff != 4000 {
		t.Errorf("two queues get %d B each, want 4000", xoff)
	}
}
