package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// SONiCParams are the parameters of PFC as SONiC and the public simulators model it.
type SONiCParams struct {
	Headroom link.Headroom `yaml:"headroom" doc:"headroom of each lossless queue: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Xon      units.Bytes   `yaml:"xon" doc:"a queue resumes below this many bytes, whatever its threshold"`
	Offset   units.Bytes   `yaml:"xon_offset" doc:"a queue also resumes this far below its threshold"`
	Minimum  units.Bytes   `yaml:"minimum,omitempty" doc:"bytes guaranteed to each lossless ingress queue of the port; 0B: use buffer.private_per_queue"`
	Alpha    units.Ratio   `yaml:"alpha,omitempty" doc:"alpha of the thresholds of these queues, overriding the alpha of policy chip"`
	Borrow   bool          `yaml:"borrow,omitempty" doc:"let a queue use the headroom of all lossless queues of its port, as on Spectrum"`
}

// sonic is PFC with static headroom as in SONiC's memory model (Reverie section 2.2.1), which the
// public simulators use. It differs from SIH in three points. An arriving frame is counted before
// the threshold is computed, even if it leaves at once. While a queue has bytes in headroom, all
// its arriving frames go there. And it has its own resume rule. If the buffer has a headroom pool
// (buffer.headroom_pool), a port reserves none: queues take headroom from the pool, first come,
// first served, until it is empty.
type sonic struct {
	sih    sih
	params SONiCParams
}

func newSONiC(params any) (Scheme, error) {
	p := params.(*SONiCParams)
	if p.Xon < 0 || p.Offset < 0 {
		return nil, fmt.Errorf("xon is %s and xon_offset %s (expected 0B or more)", p.Xon, p.Offset)
	}
	if p.Minimum < 0 || p.Minimum > mmu.MaxBuffer {
		return nil, fmt.Errorf("minimum is %s (expected 0B to %dB)", p.Minimum, int64(mmu.MaxBuffer))
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
	size := perQueue(s.params.Headroom.Of, headroomExact)
	size.Usable, size.Least = s.usable, link.Least
	return Properties{Profile: buffer.Profile{Minimum: s.params.Minimum, Alpha: s.params.Alpha}, Sizing: size}
}

// usable returns the headroom that one queue can use.
//
// Its lower bound is link.Least, the error grade of rule 1 for switch configurations, and not
// link.Exact. Operators size xoff for the peers and frames that they have: a tenth of the rows in
// shipped lookup files assumes peers that react faster than 802.3 requires. With the same bound,
// a configuration and its imported scenario get the same verdict.
func (s *sonic) usable(p *link.Port) units.Bytes {
	if s.params.Borrow {
		return p.Queues() * s.params.Headroom.Of(p)
	}
	return s.params.Headroom.Of(p)
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
	for c := range p.Spec().Lossless.All() { // the same for all classes
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
	counting buffer.Counting // nil: the policy does not support it
	reaching buffer.Reaching // nil: only a frame above the threshold pauses
	index    int
	private  units.Bytes
	headroom units.Bytes
	port     units.Bytes // headroom of all queues, usable by each; 0: no borrowing
	pooled   bool
	xon      units.Bytes
	offset   units.Bytes
	quiet
}

// Place implements Receiver.
func (r *sonicReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	used := r.view.In(r.index, a.Class, mmu.Headroom)
	if used == 0 {
		if r.private > 0 && r.view.In(r.index, a.Class, mmu.Private)+a.Bytes <= r.private {
			return mmu.Private
		}
		if r.counting != nil && r.counting.FitsCounted(now, r.view, a) || r.counting == nil && r.policy.Fits(now, r.view, a) {
			return mmu.Shared
		}
	}
	if r.room(used, a.Bytes) {
		return mmu.Headroom
	}
	if r.pooled {
		r.refuse(now, a.Class)
	}
	return mmu.Drop
}

// refuse pauses a queue if the pool is empty. An empty queue is not paused: no departure would
// turn it ON again.
func (r *sonicReceiver) refuse(now units.Time, class uint8) {
	in, bit := r.view.Ingress(r.index, class), packet.MaskOf(class)
	if in.Total() > 0 && r.want&bit == 0 {
		r.Want(now, r.want|bit)
	}
}

// room reports whether a queue that uses some headroom may take more for a frame. The buffer can
// only be full before the headroom is with an unsafe policy (buffer.Breaking).
func (r *sonicReceiver) room(used, b units.Bytes) bool {
	limit := r.headroom
	if r.port > 0 {
		used, limit = r.view.PortIn(r.index, mmu.Headroom), r.port
	}
	return used+b <= limit && r.view.Stored()+b <= r.view.Size() && (!r.pooled || b <= r.view.PoolFree(r.index))
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
	return !r.pauses(rest.Class) || rest.Moves.Has(rest.Class) && r.goesOn(now, rest.View, rest.Class)
}
