package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// SONiCParams are the parameters of PFC as SONiC and the public simulators model
// it.
type SONiCParams struct {
	Headroom link.Headroom `yaml:"headroom" doc:"of each lossless queue: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Xon      units.Bytes   `yaml:"xon" doc:"a queue is resumed below this many bytes, whatever its threshold"`
	Offset   units.Bytes   `yaml:"xon_offset" doc:"or this far below its threshold"`
	Minimum  units.Bytes   `yaml:"minimum,omitempty" doc:"guaranteed to each lossless ingress queue of the port, in place of buffer.private_per_queue; 0B: that"`
	Alpha    units.Ratio   `yaml:"alpha,omitempty" doc:"of the threshold of these queues, in place of that of policy chip"`
	Borrow   bool          `yaml:"borrow,omitempty" doc:"a queue may take the headroom of all lossless queues of its port, as on Spectrum"`
}

// sonic is PFC with static headroom as in the memory model of SONiC (Reverie
// section 2.2.1), which the public simulators use. It differs from SIH in three
// points: an arriving frame counts before the threshold is computed, and counts
// even if it leaves at once; while a queue has bytes in headroom, whatever arrives
// goes there; and it has a rule of its own for resuming. Where the buffer has a pool of
// headroom (buffer.headroom_pool), a port brings none of its own: queues take theirs from
// the pool, first come, first served, until it is empty.
type sonic struct {
	sih    sih
	params SONiCParams
}

func newSONiC(params any) (Scheme, error) {
	p := params.(*SONiCParams)
	if p.Xon < 0 || p.Offset < 0 {
		return nil, fmt.Errorf("xon is %s and xon_offset %s; allowed: 0B or more", p.Xon, p.Offset)
	}
	if p.Minimum < 0 || p.Minimum > mmu.MaxBuffer {
		return nil, fmt.Errorf("minimum is %s; allowed: 0B to %dB", p.Minimum, int64(mmu.MaxBuffer))
	}
	return &sonic{sih: sih{params: SIHParams{Headroom: p.Headroom}}, params: *p}, nil
}

// Reserve implements Scheme.
func (s *sonic) Reserve(p *link.Port) units.Bytes {
	if p.Pooled {
		return 0
	}
	return s.sih.Reserve(p)
}

// Properties implements Scheme.
func (s *sonic) Properties() Properties {
	return Properties{
		Profile: buffer.Profile{Minimum: s.params.Minimum, Alpha: s.params.Alpha},
		Sizing:  perQueue(s.params.Headroom.Of, headroomExact),
	}
}

// Gate implements Scheme.
func (s *sonic) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *sonic) Receiver(p Port) Receiver {
	counting, _ := p.Policy().(buffer.Counting)
	reaching, _ := p.Policy().(buffer.Reaching)
	r := &sonicReceiver{
		counting: counting, reaching: reaching, PauseSender: NewPauseSender(p), view: p.View(), policy: p.Policy(), index: p.Index(),
		headroom: s.params.Headroom.Of(p.Spec()), xon: s.params.Xon, offset: s.params.Offset, pooled: p.Spec().Pooled,
	}
	for c := range p.Spec().Lossless.All() { // the same for all of them
		r.private = p.View().PrivateOf(r.index, c)
	}
	if s.params.Borrow {
		r.port = p.Spec().Queues() * r.headroom
	}
	return r
}

type sonicReceiver struct {
	PauseSender
	view     mmu.View
	policy   buffer.Policy
	counting buffer.Counting // nil: the policy does not count ahead
	reaching buffer.Reaching // nil: only a frame beyond the threshold pauses
	index    int
	private  units.Bytes
	headroom units.Bytes
	port     units.Bytes // headroom of all queues that each of them may take; 0: it may not
	pooled   bool
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
	if r.room(held, a.Bytes) {
		return mmu.Headroom
	}
	if r.pooled {
		r.refuse(now, a.Class)
	}
	return mmu.Drop
}

// refuse pauses a queue for which the pool has nothing left, unless it holds nothing that
// would turn it ON again.
func (r *sonicReceiver) refuse(now units.Time, class uint8) {
	in, bit := r.view.Ingress(r.index, class), packet.MaskOf(class)
	if in.Total() > 0 && r.want&bit == 0 {
		r.Want(now, r.want|bit)
	}
}

// room reports whether a queue that holds bytes in headroom has some left for a frame.
func (r *sonicReceiver) room(held, b units.Bytes) bool {
	limit := r.headroom
	if r.port > 0 {
		held, limit = r.view.PortIn(r.index, mmu.Headroom), r.port
	}
	return held+b <= limit && (!r.pooled || b <= r.view.PoolFree(r.index))
}

// Charged implements Receiver.
func (r *sonicReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	if bit := packet.MaskOf(a.Class); r.want&bit == 0 && (s == mmu.Headroom || s == mmu.Shared && r.reaching != nil && r.reaching.Reached(r.view, r.index, a.Class)) {
		r.Want(now, r.want|bit)
	}
}

// Released implements Receiver.
func (r *sonicReceiver) Released(now units.Time, a *mmu.Arrival) {
	bit := packet.MaskOf(a.Class)
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
	return !r.holds(rest.Class) || rest.Moves.Has(rest.Class) && r.goesOn(now, rest.View, rest.Class)
}
