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
	perQueue
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

// Pooling implements Pooling.
func (s *oversubscribed) Pooling() bool { return s.params.Limit == "pool" }

// Keeps implements Conditional: a queue can take more than its port brings into the
// pool.
func (s *oversubscribed) Keeps(p registry.Promise) registry.Promise {
	if s.Pooling() {
		p &^= registry.Bounded
	}
	return p
}

// Reserve implements Scheme.
func (s *oversubscribed) Reserve(p *link.Port) units.Bytes {
	if s.Pooling() {
		return s.params.Ratio.Of(s.sih.Reserve(p))
	}
	return p.Queues() * s.QueueHeadroom(p)
}

// QueueHeadroom implements Sized: what is left of a pool when all queues take alike.
func (s *oversubscribed) QueueHeadroom(p *link.Port) units.Bytes {
	return s.params.Ratio.Of(s.params.Headroom.Of(p))
}

// Enough implements Sized.
func (s *oversubscribed) Enough() string { return headroomExact + ", ratio: 1" }

// Gate implements Scheme.
func (s *oversubscribed) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *oversubscribed) Receiver(p Port) Receiver {
	r := s.sih.receiver(p)
	if s.Pooling() {
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
