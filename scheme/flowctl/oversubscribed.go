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
	Headroom link.Headroom `yaml:"headroom" doc:"PHI, what a queue can need: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Ratio    units.Ratio   `yaml:"ratio" doc:"of that, what is set aside"`
	Limit    string        `yaml:"limit" allowed:"per_queue,pool" doc:"per_queue: each queue has its part of PHI; pool: all queues of a switch share one pool, and each may take PHI of it"`
	Delta    units.Bytes   `yaml:"delta" doc:"a queue is resumed this far below its threshold"`
}

// oversubscribed is PFC with less headroom than can be needed (Azure, SONiC; DSH
// sections III-C and V-B): what does not fit is dropped.
type oversubscribed struct {
	sih    sih
	params OversubscribedParams
}

func newOversubscribed(params any) (Scheme, error) {
	p := params.(*OversubscribedParams)
	switch {
	case p.Delta < 0:
		return nil, fmt.Errorf("delta is %s; allowed: 0B or more", p.Delta)
	case p.Ratio.Num > p.Ratio.Den:
		return nil, fmt.Errorf("ratio is above 1; allowed: more than 0, at most 1")
	case p.Limit != "per_queue" && p.Limit != "pool":
		return nil, fmt.Errorf("limit cannot be %q; allowed: per_queue, pool", p.Limit)
	}
	return &oversubscribed{sih: sih{params: SIHParams{Headroom: p.Headroom, Delta: p.Delta}}, params: *p}, nil
}

// pools reports whether the queues of a switch share one pool.
func (s *oversubscribed) pools() bool { return s.params.Limit == "pool" }

// Properties implements Scheme. A queue can take more than its port brings into the pool.
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

// queue is the headroom of a queue; of a pool, when all queues take the same.
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

// poolReceiver is that of SIH, bounded by the pool.
type poolReceiver struct{ sihReceiver }

// Place implements Receiver.
func (r *poolReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	s := r.sihReceiver.Place(now, a)
	if s == mmu.Headroom {
		if held, size := r.port.Pool(); held+a.Bytes > size {
			return r.refuse(now, a.Class)
		}
	}
	return s
}
