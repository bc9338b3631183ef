package flowctl

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// PHI is 10,000 B and the ratio 4/5. Per queue: 8000 B of headroom each, 16,000 B reserved. Pool:
// 16,000 B for all, of which one queue may use 10,000 B.
func TestOversubscribed(t *testing.T) {
	for _, c := range []struct {
		limit string
		want  []mmu.Segment // segments of frames of 2000 B, first class 1, then class 2
	}{
		{"per_queue", []mmu.Segment{mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Drop, mmu.Drop, mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Drop}},
		{"pool", []mmu.Segment{mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Drop, mmu.Headroom, mmu.Headroom, mmu.Headroom, mmu.Drop, mmu.Drop}},
	} {
		p := newSIHPort(t, 1000) // nothing goes to the shared segment
		s := mustScheme(t, "oversubscribed", &OversubscribedParams{
			Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 10_000}, Ratio: units.Ratio{Num: 4, Den: 5}, Limit: c.limit,
		})
		if got := s.Reserve(&p.spec); got != 16_000 {
			t.Errorf("%s reserves %d B", c.limit, got)
		}
		p.pool = s.Reserve(&p.spec)
		r := s.Receiver(p)
		for i, want := range c.want {
			a := &mmu.Arrival{Class: 1 + uint8(i/6), Bytes: 2000, Kind: mmu.Lossless, Out: 1}
			got := r.Place(units.Time(i), a)
			if got != want {
				t.Errorf("%s: frame %d goes to %s, want %s", c.limit, i, got, want)
			}
			if got != mmu.Drop {
				p.ledger.Charge(a, got)
				r.Charged(units.Time(i), a, got)
			}
		}
		if p := r.(Pausing).Paused(); p != 0b110 {
			t.Errorf("%s: paused %03b", c.limit, p)
		}
		of := s.Properties()
		if bounded := of.Breaks&registry.Bounded == 0; bounded != (c.limit == "per_queue") || of.Pools == bounded {
			t.Errorf("%s: bounded %v, pools %v", c.limit, bounded, of.Pools)
		}
	}
}

// A queue that finds a full pool, or headroom smaller than a frame, has no bytes there. It is
// still paused if it stores bytes that will leave.
func TestRefusalPauses(t *testing.T) {
	for name, params := range map[string]any{
		"oversubscribed": &OversubscribedParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 10_000}, Ratio: units.Ratio{Num: 1, Den: 10}, Limit: "pool"},
		"pfc":            &SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 500}},
	} {
		p := newSIHPort(t, 2500) // two frames go to the shared segment
		s := mustScheme(t, name, params)
		p.pool = 500
		r := s.Receiver(p)
		q := newQueueSteps(t, p, r, r.(Pausing).Paused)
		big := *q.frame
		big.Bytes = 3000
		if got := r.Place(0, &big); got != mmu.Drop || q.paused() != 0 {
			t.Errorf("%s: a frame of an empty queue goes to %s, paused %03b", name, got, q.paused())
		}
		q.arrive(mmu.Shared, false)
		q.arrive(mmu.Shared, false)
		q.arrive(mmu.Drop, true)
		q.leave(false) // 1000 B are below 2500
	}
}

func TestOversubscribedParams(t *testing.T) {
	half := units.Ratio{Num: 1, Den: 2}
	for about, p := range map[string]*OversubscribedParams{
		"delta is":       {Delta: -1, Ratio: half, Limit: "pool"},
		"ratio is 2/1 (": {Ratio: units.Ratio{Num: 2, Den: 1}, Limit: "pool"},
		"limit is":       {Ratio: half, Limit: "port"},
	} {
		if _, err := newOversubscribed(p); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("got %v, want %q", err, about)
		}
	}
}
