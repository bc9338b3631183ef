package deadlock

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// BreakerParams are the parameters of Loop Breaker and Deadlock Breaker.
type BreakerParams struct {
	Period  units.Time `yaml:"period" doc:"how often the control plane polls ports; a queue with frames that is paused for a whole period is suspected"`
	Latency units.Time `yaml:"latency" doc:"reaction time of the control plane to a probe or to the end of a period"`
}

func defaultBreaker() any {
	return &BreakerParams{Period: units.Millisecond, Latency: 100 * units.Microsecond}
}

// breakerProbe is a probe that waits for the control plane.
type breakerProbe struct {
	at   units.Time
	port int
	ext  []uint64
}

// breaker is the common part of Loop Breaker and Deadlock Breaker (Shpiner et al., HotNets 2016).
// Ports that are paused for a period send a probe with a unique id upstream. Each switch forwards
// the smallest id that it saw in a period; a probe that returns has found a loop. Everything
// happens in the control plane.
type breaker struct {
	credits
	params      BreakerParams
	path        bool         // Deadlock Breaker: probes record their path, and buffers on it grow
	since       []units.Time // by egress queue: start of its pause
	least       [2][]uint64  // by egress queue: smallest id of this period; [1]: of probes that changed their class
	found       []bool       // by egress queue: a loop was found in this period
	waiting     []breakerProbe
	timers      struct{ period, latency int }
	looks       units.Time // next poll; Never: nothing is paused
	pausedPorts int        // egress ports with a paused class
}

func newBreaker(path bool) New {
	return func(params any, s Switch) (Handler, error) {
		p := params.(*BreakerParams)
		if err := checkTimer("period", p.Period); err != nil {
			return nil, err
		}
		if p.Latency <= 0 || p.Latency > p.Period {
			return nil, fmt.Errorf("latency is %s (expected more than 0s and at most the period, %s)", p.Latency, p.Period)
		}
		if path {
			if err := requireUnpartitioned(s, "deadlock-breaker"); err != nil {
				return nil, err
			}
		}
		b := &breaker{credits: newCredits(s), params: *p, path: path, looks: units.Never}
		queues := s.Ports() * mmu.Classes
		b.since, b.found = make([]units.Time, queues), make([]bool, queues)
		b.least = [2][]uint64{make([]uint64, queues), make([]uint64, queues)}
		b.timers.period, b.timers.latency = 0, s.NewTimer()
		return b, nil
	}
}

// NeedsPairs implements Pairs.
func (*breaker) NeedsPairs() {}

// Patience implements Patient: a pause that starts just after a poll, and one latency per hop.
func (b *breaker) Patience() units.Time { return 2*b.params.Period + 16*b.params.Latency }

// Gated implements Handler.
func (b *breaker) Gated(now units.Time, port int, from, to packet.ClassMask) {
	for class := range (from ^ to).All() {
		b.since[port*mmu.Classes+int(class)] = now
	}
	b.blocked(now, port, to)
	switch {
	case from == 0 && to != 0:
		if b.pausedPorts++; b.looks == units.Never {
			b.lookAt(now - now%b.params.Period + b.params.Period + b.params.Latency)
		}
	case from != 0 && to == 0:
		b.pausedPorts--
	}
}

// lookAt schedules the poll at the end of a period, one latency later. A scheduled poll stays,
// even if a pause starts within the latency before it.
func (b *breaker) lookAt(at units.Time) {
	b.looks = at
	b.s.WakeAt(b.timers.period, at)
}

// stuck reports whether an egress queue was paused for the whole period that has ended.
func (b *breaker) stuck(now units.Time, port int, class uint8) bool {
	ended := now - b.params.Latency
	return b.s.GatedClasses(port).Has(class) && b.s.Head(port, class) != nil && ended-b.since[port*mmu.Classes+int(class)] >= b.params.Period
}

// Wake implements Handler.
func (b *breaker) Wake(now units.Time, timer int) {
	if timer == b.timers.latency {
		b.work(now)
		return
	}
	clear(b.least[0])
	clear(b.least[1])
	clear(b.found)
	for port := range b.armed {
		for class := range b.s.GatedClasses(port).All() {
			if b.stuck(now, port, class) {
				id := b.id(port, class)
				b.s.Report(now, Suspected, port, int(class), 0)
				b.least[0][port*mmu.Classes+int(class)] = id
				b.forward(now, port, class, []uint64{id})
			}
		}
	}
	if b.pausedPorts == 0 {
		b.looks = units.Never
		return
	}
	b.lookAt(b.looks + b.params.Period)
}

// id returns the unique id of an egress queue.
func (b *breaker) id(port int, class uint8) uint64 {
	return 1 + uint64(b.s.ID())<<16 + uint64(port*mmu.Classes+int(class))
}

// changedClass marks a probe that changed its class on the way, because a port is paused as a
// whole. Such probes do not compete with probes of loops within a class.
const changedClass = 1 << 43

// forward sends a probe to the upstreams of the ingress queues that wait for an egress, once per
// paused class.
func (b *breaker) forward(now units.Time, out int, class uint8, words []uint64) {
	for in := range b.armed {
		for to := range b.pausedFor(in, out, class).All() {
			changed := words[0] & changedClass
			if to != class {
				changed = changedClass
			}
			b.send(now, in, out, to, changed, words)
		}
	}
}

// pausedFor returns the classes in which an ingress pauses its upstream because of frames that
// wait for an egress queue: that class, or all paused classes if the whole port is paused. A host
// is in no loop, and takes neither probes nor credits.
func (b *breaker) pausedFor(in, out int, class uint8) packet.ClassMask {
	paused := b.s.PausedClasses(in)
	switch {
	case b.s.ToHost(in):
		return 0
	case b.s.View().Pair(in, out, class).Packets == 0:
		return 0
	case b.s.WholePort(in):
		return paused
	}
	return paused & (1 << class)
}

// send sends a probe upstream. Its first word is the id with the class on top. With a path, the
// queues that it passed follow.
func (b *breaker) send(now units.Time, in, out int, class uint8, changed uint64, words []uint64) {
	ext := packet.Ext{words[0]&(1<<40-1) | uint64(class)<<40 | changed}
	ext = append(ext, words[1:]...)
	if b.path {
		ext = append(ext, uint64(class)<<48|uint64(b.s.ID())<<32|uint64(in)<<16|uint64(out))
	}
	if len(ext) <= maxNodes {
		f := packet.Packet{Size: max(uint16(packet.PFCSize), uint16(18+8*len(ext))), Meta: packet.MakeMeta(packet.Loop, 0)}
		b.s.Send(now, in, &f, ext)
	}
}

// Control implements Handler: a credit, or a probe, which the control plane handles later.
func (b *breaker) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if f.Kind() != packet.Loop || len(ext) == 0 || b.take(now, port, ext) {
		return
	}
	if ext[0]>>44 != 0 || len(ext) > 1 && !b.path {
		return // not a probe of this kind
	}
	b.waiting = append(b.waiting, breakerProbe{now + b.params.Latency, port, slices.Clone(ext)})
	b.s.WakeAt(b.timers.latency, b.waiting[0].at)
}

// work handles the probes whose latency has passed.
func (b *breaker) work(now units.Time) {
	for len(b.waiting) > 0 && b.waiting[0].at <= now {
		p := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.probe(now, p.port, uint8(p.ext[0]>>40)&7, p.ext)
	}
	if len(b.waiting) > 0 {
		b.s.WakeAt(b.timers.latency, b.waiting[0].at)
	}
}

// probe handles a probe that arrived at an egress.
func (b *breaker) probe(now units.Time, out int, class uint8, ext []uint64) {
	if !b.s.GatedClasses(out).Has(class) {
		return
	}
	queue := out*mmu.Classes + int(class)
	id, least := ext[0]&(1<<40-1), &b.least[ext[0]>>43][queue]
	switch {
	case id == b.id(out, class) && b.found[queue]:
	case id == b.id(out, class):
		b.found[queue] = true
		b.s.Report(now, Detected, out, int(class), int64(len(ext)))
		b.resolve(now, out, class, ext)
	case *least == 0 || id < *least:
		*least = id
		b.forward(now, out, class, ext)
	}
}

// resolve breaks a loop: frames move to other ports, or buffers grow.
func (b *breaker) resolve(now units.Time, out int, class uint8, ext []uint64) {
	b.s.Report(now, RoundBegun, out, int(class), 0)
	done := 0
	if b.path {
		for in := range b.armed {
			if b.s.PausedClasses(in).Has(class) && !b.s.ToHost(in) {
				of := class
				if len(ext) > 1 && in == int(uint16(ext[1]>>16)) {
					of = uint8(ext[1]>>48) & 7 // class of the loop at this ingress
				}
				waits := b.s.View().Pair(in, out, class).Bytes
				if waits > 0 && b.grow(now, in, of, waits) > 0 {
					done++
				}
			}
		}
	} else {
		done = b.reroute(now, out, class)
	}
	if done == 0 {
		b.s.Report(now, GivenUp, out, int(class), 0)
		return
	}
	b.s.Report(now, RoundEnded, out, int(class), int64(done))
}

// reroute moves the frames of an egress queue to other ports with a path to their destination,
// the first that is not paused. Frames without another path stay.
func (b *breaker) reroute(now units.Time, out int, class uint8) (moved int) {
	for to := range b.armed {
		if to == out || b.s.GatedClasses(to).Has(class) {
			continue
		}
		moved += b.s.Requeue(now, out, class, to, func(p *packet.Packet) bool {
			return slices.Contains(b.s.Choices(p), uint16(to))
		})
	}
	return moved
}

// Paused implements Handler.
func (b *breaker) Paused(_ units.Time, port int, _, to packet.ClassMask) { b.paused(port, to) }

// OnPFC implements Handler.
func (b *breaker) OnPFC(_ units.Time, _ int, _ *packet.Packet, ext packet.Ext) packet.Ext { return ext }
