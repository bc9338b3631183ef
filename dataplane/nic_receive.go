package dataplane

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// ReceiveSpec describes the receive side of a NIC. The zero value takes every
// frame at once, as a healthy NIC does.
type ReceiveSpec struct {
	Rate   units.Rate       // at which the host takes frames; 0: at once
	Buffer units.Bytes      // where they wait meanwhile; see size
	Xoff   units.Bytes      // per class: pause above it
	Stuck  []units.Interval // the host takes nothing and pauses every lossless class
}

// size is that of the receive buffer, and what other than lossless classes may hold of
// it: the rest is promised to those. A host that is only stuck has what it promises
// beside its buffer: nobody has made one large enough for it.
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

// hostPolicy is that of a receive buffer: a static limit for each lossless class, and
// what is left for all others together.
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

// receiver is the receive buffer of a NIC: frames wait there for a slow or stuck
// host, and the flow control of the port sees them come and go.
type receiver struct {
	n       *NIC
	spec    ReceiveSpec
	waiting ring
	ext     wordQueue // beside waiting, in the same order
	busy    bool      // a frame is being taken
	storm   bool
	arrival mmu.Arrival
	taken   packet.Packet // scratch: arguments of interface calls must not escape
}

// newReceiver returns nil when frames need not be held.
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

// Storming is a receiver that can be told to pause everything: a stuck NIC.
type Storming interface {
	Storm(now units.Time, mask packet.ClassMask)
}

// describe fills in what the books and the flow control see of a frame. A host has no
// room of its own for control classes.
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
	seg, tell := r.n.admit(now, port, a)
	if v := r.n.view; seg == mmu.Drop || v.Stored()+a.Bytes > v.Size() {
		r.n.refuse(now, a, p)
		return
	}
	r.n.charge(now, port, a, seg, tell)
	*r.waiting.push() = *p
	r.ext.push(ext, nil)
	if !r.busy && !r.storm {
		r.next(now)
	}
}

// next takes frames until one needs time.
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

// take hands the first waiting frame to the host.
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

// takeNext ends the taking of a frame and begins the next.
func (r *receiver) takeNext(now units.Time) {
	r.busy = false
	r.take(now)
	if !r.storm {
		r.next(now)
	}
}

// turn begins or ends a stuck time.
func (r *receiver) turn(now units.Time) {
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
	r.n.wakes.set(stormWake, r.change(now))
}

// stuck reports whether the host is stuck at now; change returns the next time
// at which that begins or ends.
func (r *receiver) stuck(now units.Time) bool {
	for _, s := range r.spec.Stuck {
		if s.From <= now && now < s.To {
			return true
		}
	}
	return false
}

func (r *receiver) change(now units.Time) units.Time {
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
