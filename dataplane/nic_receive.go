package dataplane

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// ReceiveSpec describes the receive side of a NIC. With the zero value the host processes every
// frame at once.
type ReceiveSpec struct {
	Rate   units.Rate       // at which the host processes frames; 0: at once
	Buffer units.Bytes      // size of the receive buffer; see size
	Xoff   units.Bytes      // per class: pause above this occupancy
	Stuck  []units.Interval // intervals in which the host processes nothing and pauses every lossless class
}

// size returns the size of the receive buffer and the part that control and lossy classes may
// use; the rest is guaranteed to lossless classes. If the host can only get stuck, the guaranteed
// part is added to Buffer, because Buffer was not sized for it.
func (r *ReceiveSpec) size(p *link.Port, scheme flowctl.Scheme) (all, others units.Bytes) {
	promised := scheme.Reserve(p) + p.Queues()*r.Xoff
	switch {
	case r.Buffer == 0:
		all = mmu.MaxBuffer
	case r.Rate == 0:
		all = min(r.Buffer+promised, mmu.MaxBuffer)
	default:
		all = r.Buffer
	}
	return all, max(0, all-promised)
}

// hostPolicy is the policy of a receive buffer: a static limit for each lossless class, and one
// common limit for all other classes.
type hostPolicy struct {
	buffer.Policy
	others units.Bytes
}

// Fits implements buffer.Policy.
func (h *hostPolicy) Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	if a.Kind == mmu.Lossless {
		return h.Policy.Fits(now, v, a)
	}
	return v.SharedOf(mmu.Lossy)+v.SharedOf(mmu.Control)+a.Bytes <= h.others
}

// receiver is the receive buffer of a NIC. Frames wait there for a slow or stuck host; the flow
// control of the port sees them arrive and leave.
type receiver struct {
	n       *NIC
	spec    ReceiveSpec
	waiting ring
	ext     wordQueue // extensions of waiting, in the same order
	busy    bool      // the host is processing a frame
	storm   bool      // the host is stuck
	arrival mmu.Arrival
	taken   packet.Packet // scratch: arguments of interface calls must not escape
}

// newReceiver returns nil if frames never wait.
func newReceiver(n *NIC, spec *ReceiveSpec, scheme flowctl.Scheme) *receiver {
	if spec.Rate == 0 && len(spec.Stuck) == 0 && !scheme.Properties().AtHosts {
		return nil
	}
	return &receiver{n: n, spec: *spec}
}

func (r *receiver) start() {
	if len(r.spec.Stuck) > 0 {
		r.n.wakes.set(stormWake, max(1, r.spec.Stuck[0].From))
	}
}

// Storming is a flow control receiver that can pause all classes in a mask, like a stuck NIC.
type Storming interface {
	Storm(now units.Time, mask packet.ClassMask)
}

// describe fills in the description of a frame for the ledger and the flow control. Control
// classes are treated as lossy, because a host has no separate room for them.
func (r *receiver) describe(p *packet.Packet) *mmu.Arrival {
	class := p.Class()
	a := &r.arrival
	*a = mmu.Arrival{Bytes: units.Bytes(p.Size), Class: class, Kind: r.n.kinds[class]}
	if a.Kind == mmu.Control {
		a.Kind = mmu.Lossy
	}
	return a
}

func (r *receiver) arrive(now units.Time, p *packet.Packet, ext packet.Ext) {
	a, port := r.describe(p), &r.n.ports[0]
	seg, notify := r.n.admit(now, port, a)
	if v := r.n.view; seg == mmu.Drop || v.Stored()+a.Bytes > v.Size() {
		r.n.refuse(now, a, p)
		return
	}
	r.n.charge(now, port, a, seg, notify)
	*r.waiting.push() = *p
	r.ext.push(ext, nil)
	if !r.busy && !r.storm {
		r.next(now)
	}
}

// next processes frames until one takes time.
func (r *receiver) next(now units.Time) {
	for !r.waiting.empty() {
		if r.spec.Rate > 0 {
			r.busy = true
			r.n.wakes.set(rxWake, now+r.spec.Rate.TxTime(units.Bytes(r.waiting.front().Size)))
			return
		}
		r.take(now)
	}
}

// take passes the first waiting frame to the host.
func (r *receiver) take(now units.Time) {
	p := &r.taken
	*p = *r.waiting.front()
	ext := r.ext.pop()
	r.waiting.pop()
	a := r.describe(p)
	r.n.ledger.Release(a)
	if a.Kind == mmu.Lossless {
		r.n.ports[0].recv.Released(now, a)
	}
	r.n.accept(now, p, ext)
}

// takeNext ends the processing of a frame and starts the next one.
func (r *receiver) takeNext(now units.Time) {
	r.busy = false
	r.take(now)
	if !r.storm {
		r.next(now)
	}
}

// updateStuck starts or ends a stuck interval.
func (r *receiver) updateStuck(now units.Time) {
	if stuck := r.stuck(now); stuck != r.storm {
		r.storm = stuck
		if s, ok := r.n.ports[0].recv.(Storming); ok {
			mask := packet.ClassMask(0)
			if stuck {
				mask = r.n.ports[0].spec.Lossless
			}
			s.Storm(now, mask)
		}
		if !stuck && !r.busy {
			r.next(now)
		}
	}
	r.n.wakes.set(stormWake, r.nextChange(now))
}

// stuck reports whether the host is stuck at now. nextChange returns the next start or end of a
// stuck interval.
func (r *receiver) stuck(now units.Time) bool {
	for _, s := range r.spec.Stuck {
		if s.From <= now && now < s.To {
			return true
		}
	}
	return false
}

func (r *receiver) nextChange(now units.Time) units.Time {
	at := units.Never
	for _, s := range r.spec.Stuck {
		if s.From > now {
			at = min(at, s.From)
		}
		if s.To > now {
			at = min(at, s.To)
		}
	}
	return at
}
