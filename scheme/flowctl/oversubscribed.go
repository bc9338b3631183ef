package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// OversubscribedParams are the parameters of oversubscribed headroom.
type OversubscribedParams struct {
	Headroom link.Headroom `yaml:"headroom" doc:"PHI, the headroom that a queue can need: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Ratio    units.Ratio   `yaml:"ratio" doc:"fraction of PHI that is reserved"`
	Limit    string        `yaml:"limit" allowed:"per_queue,pool" doc:"per_queue: each queue has ratio times PHI; pool: all queues of a switch share one pool, and each may use up to PHI"`
	Delta    units.Bytes   `yaml:"delta" doc:"a queue resumes this far below its threshold"`
}

// oversubscribed is PFC with less headroom than the worst case needs (Azure, SONiC; DSH sections
// III-C and V-B). Frames that do not fit are dropped.
type oversubscribed struct {
	sih    sih
	params OversubscribedParams
}

func newOversubscribed(params any) (Scheme, error) {
	p := params.(*OversubscribedParams)
	switch {
	case p.Delta < 0:
		return nil, fmt.Errorf("delta is %s (expected 0B or more)", p.Delta)
	case p.Ratio.Num > p.Ratio.Den:
		return nil, fmt.Errorf("ratio is %d/%d (expected more than 0 and at most 1)", p.Ratio.Num, p.Ratio.Den)
	case p.Limit != "per_queue" && p.Limit != "pool":
		return nil, fmt.Errorf("limit is %q (allowed: per_queue, pool)", p.Limit)
	}
	return &oversubscribed{sih: sih{params: SIHParams{Headroom: p.Headroom, Delta: p.Delta}}, params: *p}, nil
}

// pools reports whether the queues of a switch share one pool.
func (s *oversubscribed) pools() bool { return s.params.Limit == "pool" }

// Properties implements Scheme. In a pool, a queue can use more than its port contributes.
func (s *oversubscribed) Properties() Properties {
	p := Properties{Pools: s.pools(), Sizing: perQueue(s.queue, headroomExact+", ratio: 1")}
	if s.pools() {
		p.Breaks = registry.Bounded
	}
	return p
}

// Reserve implements Scheme.
func (s *oversubscribed) Reserve(p *link.Port) units.Bytes {
	if s.pools() {
		return s.params.Ratio.Of(s.sih.Reserve(p))
	}
	return p.Queues() * s.queue(p)
}

// queue returns the headroom of a queue; for a pool, its share if all queues use the same.
func (s *oversubscribed) queue(p *link.Port) units.Bytes {
	return s.params.Ratio.Of(s.params.Headroom.Of(p))
}

// Gate implements Scheme.
func (s *oversubscribed) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *oversubscribed) Receiver(p Port) Receiver {
	r := s.sih.receiver(p)
	if s.pools() {
		return &poolReceiver{r}
	}
	r.headroom = s.params.Ratio.Of(r.headroom)
	return &r
}

// poolReceiver is the receiver of SIH, limited by the pool.
type poolReceiver struct{ sihReceiver }

// Place implements Receiver.
func (r *poolReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	s := r.sihReceiver.Place(now, a)
	if s == mmu.Headroom {
		if used, size := r.port.Pool(); used+a.Bytes > size {
			return r.refuse(now, a.Class)
		}
	}
	return s
}
