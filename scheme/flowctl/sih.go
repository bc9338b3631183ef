package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// SIHParams are the parameters of PFC with static, independent headroom.
type SIHParams struct {
	Headroom link.Headroom `yaml:"headroom" doc:"headroom of each lossless queue: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Delta    units.Bytes   `yaml:"delta" doc:"a queue resumes this far below its threshold"`
}

// sih is PFC as switches run it today: each lossless ingress queue has its own headroom, sized
// for the worst case (DSH section II).
type sih struct{ params SIHParams }

func newSIH(params any) (Scheme, error) {
	p := params.(*SIHParams)
	if p.Delta < 0 {
		return nil, fmt.Errorf("delta is %s (expected 0B or more)", p.Delta)
	}
	return &sih{params: *p}, nil
}

// Reserve implements Scheme: headroom for every lossless queue of the port.
func (s *sih) Reserve(p *link.Port) units.Bytes {
	return p.Queues() * s.params.Headroom.Of(p)
}

// Properties implements Scheme.
func (s *sih) Properties() Properties {
	return Properties{Sizing: perQueue(s.params.Headroom.Of, headroomExact)}
}

// Gate implements Scheme.
func (s *sih) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *sih) Receiver(p Port) Receiver {
	r := s.receiver(p)
	return &r
}

func (s *sih) receiver(p Port) sihReceiver {
	return sihReceiver{
		PauseSender: NewPauseSender(p), view: p.View(), policy: p.Policy(), index: p.Index(),
		private: p.View().PrivateSize(), headroom: s.params.Headroom.Of(p.Spec()), delta: s.params.Delta,
	}
}

type sihReceiver struct {
	// Fields that every frame needs, within a cache line.
	view     mmu.View
	policy   buffer.Policy
	index    int
	private  units.Bytes
	headroom units.Bytes // PHI
	PauseSender
	delta units.Bytes
	quiet
}

// Place is DSH Algorithm 1: private, shared, headroom, drop.
func (r *sihReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	if r.private > 0 && r.view.In(r.index, a.Class, mmu.Private)+a.Bytes <= r.private {
		return mmu.Private
	}
	if r.policy.Fits(now, r.view, a) {
		return mmu.Shared
	}
	if r.view.In(r.index, a.Class, mmu.Headroom)+a.Bytes <= r.headroom {
		return mmu.Headroom
	}
	return r.refuse(now, a.Class)
}

// refuse drops a frame. Charged is not called for it, so its queue turns OFF here. An empty queue
// does not: no departure would turn it ON again.
func (r *sihReceiver) refuse(now units.Time, class uint8) mmu.Segment {
	if in := r.view.Ingress(r.index, class); in.Total() > 0 {
		r.off(now, class)
	}
	return mmu.Drop
}

// Shortcuts implements Quick. Thresholds are compared with stored bytes. Only a frame in headroom,
// or a threshold that falls below the queue, turns a queue OFF. Frames fill a private segment
// before the shared one, so Admit and Release need a switch without private segments.
func (r *sihReceiver) Shortcuts() Shortcuts {
	noPrivate := r.private == 0
	return Shortcuts{Passing: true, Admit: noPrivate, Release: noPrivate}
}

// Charged implements Receiver: ON to OFF in DSH Fig. 3. A frame in the shared segment was below
// T(t) when it arrived, so only headroom turns the queue OFF here.
func (r *sihReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	if s == mmu.Headroom {
		r.off(now, a.Class)
	}
}

func (r *sihReceiver) off(now units.Time, class uint8) {
	if bit := packet.MaskOf(class); r.want&bit == 0 {
		r.Want(now, r.want|bit)
	}
}

// Released implements Receiver: OFF to ON, or ON to OFF if the threshold fell below the queue
// while others grew.
func (r *sihReceiver) Released(now units.Time, a *mmu.Arrival) {
	q, xoff := r.policy.Level(now, r.view, r.index, a.Class)
	bit := packet.MaskOf(a.Class)
	if r.want&bit == 0 {
		// A filtered length can exceed xoff although the queue is empty.
		if in := r.view.Ingress(r.index, a.Class); q > xoff && in.Total() > 0 {
			r.quiet[a.Class&7] = now
			r.Want(now, r.want|bit)
		}
		return
	}
	r.quiet[a.Class&7] = now
	in := r.view.Ingress(r.index, a.Class)
	if r.goesOn(&in, q, xoff) {
		r.Want(now, r.want&^bit)
	}
}

// goesOn reports whether a queue that is OFF turns ON. Headroom must be free again, and so must a
// reserve that was used instead of it.
func (r *sihReceiver) goesOn(in *mmu.Ingress, q, xoff units.Bytes) bool {
	return in.Headroom|in.Reserve == 0 && q < max(0, xoff-r.delta) || in.Total() == 0
}

// Resumes implements Resuming.
func (r *sihReceiver) Resumes(now units.Time, rest *Rest) bool {
	if !r.pauses(rest.Class) {
		return true
	}
	if !rest.Moves.Has(rest.Class) {
		return false
	}
	q, xoff := r.policy.Level(now, rest.View, r.index, rest.Class)
	in := rest.View.Ingress(r.index, rest.Class)
	return r.goesOn(&in, q, xoff)
}
