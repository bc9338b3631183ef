package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// SONiCParams are the parameters of PFC as SONiC and the public simulators model
// it.
type SONiCParams struct {
	Headroom link.Headroom `yaml:"headroom" doc:"of each lossless queue: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Xon      units.Bytes   `yaml:"xon" doc:"a queue is resumed below this many bytes, whatever its threshold"`
	Offset   units.Bytes   `yaml:"xon_offset" doc:"or this far below its threshold"`
}

// sonic is PFC with static headroom as in the memory model of SONiC (Reverie
// section 2.2.1), which the public simulators use. It differs from SIH in three
// points: an arriving frame counts before the threshold is computed, and counts
// even if it leaves at once; while a queue has bytes in headroom, whatever arrives
// goes there; and it has a rule of its own for resuming.
type sonic struct {
	perQueue
	sih    sih
	params SONiCParams
}

func newSONiC(params any) (Scheme, error) {
	p := params.(*SONiCParams)
	if p.Xon < 0 || p.Offset < 0 {
		return nil, fmt.Errorf("xon is %s and xon_offset %s; allowed: 0B or more", p.Xon, p.Offset)
	}
	return &sonic{sih: sih{params: SIHParams{Headroom: p.Headroom}}, params: *p}, nil
}

// Reserve implements Scheme.
func (s *sonic) Reserve(p *link.Port) units.Bytes { return s.sih.Reserve(p) }

// QueueHeadroom implements Sized.
func (s *sonic) QueueHeadroom(p *link.Port) units.Bytes { return s.sih.QueueHeadroom(p) }

// Enough implements Sized.
func (s *sonic) Enough() string { return headroomExact }

// Gate implements Scheme.
func (s *sonic) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *sonic) Receiver(p Port) Receiver {
	counting, _ := p.Policy().(buffer.Counting)
	return &sonicReceiver{
		counting: counting, PauseSender: NewPauseSender(p), view: p.View(), policy: p.Policy(), index: p.Index(),
		private: p.View().PrivateSize(), headroom: s.params.Headroom.Of(p.Spec()), xon: s.params.Xon, offset: s.params.Offset,
	}
}

type sonicReceiver struct {
	PauseSender
	view     mmu.View
	policy   buffer.Policy
	counting buffer.Counting // nil: the policy does not count ahead
	index    int
	private  units.Bytes
	headroom units.Bytes
	xon      units.Bytes
	offset   units.Bytes
	quiet
}

// Place implements Receiver.
func (r *sonicReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	held := r.view.In(r.index, a.Class, mmu.Headroom)
	if held == 0 {
		if r.private > 0 && r.view.In(r.index, a.Class, mmu.Private)+a.Bytes <= r.private {
			return mmu.Private
		}
		if r.counting != nil && r.counting.FitsCounted(now, r.view, a) || r.counting == nil && r.policy.Fits(now, r.view, a) {
			return mmu.Shared
		}
	}
	if held+a.Bytes <= r.headroom {
		return mmu.Headroom
	}
	return mmu.Drop
}

// Charged implements Receiver.
func (r *sonicReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	if bit := uint8(1) << a.Class; s == mmu.Headroom && r.want&bit == 0 {
		r.Want(now, r.want|bit)
	}
}

// Released implements Receiver.
func (r *sonicReceiver) Released(now units.Time, a *mmu.Arrival) {
	bit := uint8(1) << a.Class
	if r.want&bit == 0 {
		return
	}
	r.quiet[a.Class&7] = now
	if r.goesOn(now, r.view, a.Class) {
		r.Want(now, r.want&^bit)
	}
}

// goesOn reports whether a queue that is OFF turns ON.
func (r *sonicReceiver) goesOn(now units.Time, v mmu.View, class uint8) bool {
	in := v.Ingress(r.index, class)
	if in.Headroom|in.Reserve != 0 {
		return false
	}
	q, xoff := r.policy.Level(now, v, r.index, class)
	return q < r.xon || q+r.offset <= xoff || in.Total() == 0
}

// Resumes implements Resuming.
func (r *sonicReceiver) Resumes(now units.Time, rest *Rest) bool {
	return !r.holds(rest.Class) || rest.Moves&(1<<rest.Class) != 0 && r.goesOn(now, rest.View, rest.Class)
}
