package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// roundabout is a miniature of Roundabout. A switch whose egress stays paused sends a probe upstream,
// along the pauses. A probe that returns closes a loop and makes its sender the coordinator of a
// round. In a round every switch of the loop sets buffer aside and grants it upstream as credit. It
// forces frames out within the credit it received, so the loop moves although it is paused. Each
// departure from the loop's egress becomes the next credit. Frames from other ports are set aside,
// and RESUMEs are withheld. The round ends when a switch stores little of the loop. The end message
// follows the data, so no forced frame comes after it.
type roundabout struct {
	s       deadlock.Switch
	patient units.Time // how long an egress with frames may be paused before it is suspected
	rounds  uint64

	pauser [maxPorts]uint64                    // by egress: switch that paused it, from the header of its PFC frame
	since  [maxPorts][mmu.Classes]units.Time   // by egress: start of the pause
	probed struct{ initiator, class, out int } // last probe forwarded
	early  struct{ round, total uint64 }       // credit that arrived before the start of its round
	loop   loop
	before struct {
		in     mmu.Ingress
		shared units.Bytes
	}
}

const maxPorts = 8

// loop is the current round.
type loop struct {
	active, ending bool
	coordinator    bool
	round          uint64
	in, out        int
	class          uint8
	granted        uint64 // to the upstream in this round
	allowed, sent  uint64 // by and to the downstream in this round
}

// Message types. A message has operation, round or initiator, class, argument.
const (
	opProbe = 1 + iota
	opStart
	opCredit
	opDone
	opEnd
)

var roundaboutEntry = registry.Entry[deadlock.New]{
	Name: "test-roundabout", Doc: "turns a paused loop", Promises: registry.Lossless | registry.InOrder | registry.Resolves,
	New: func(_ any, s deadlock.Switch) (deadlock.Handler, error) {
		return &roundabout{s: s, patient: 50 * units.Microsecond}, nil
	},
}

// NeedsPairs implements deadlock.Pairs, to find which ingress feeds a stuck egress.
func (*roundabout) NeedsPairs() {}

// Gated implements deadlock.Handler: a pause starts a timer.
func (h *roundabout) Gated(now units.Time, port int, from, to packet.ClassMask) {
	for c := range (to &^ from).All() {
		h.since[port][c] = now
		h.s.WakeAt(0, now+h.patient)
	}
}

// Paused implements deadlock.Handler.
func (*roundabout) Paused(units.Time, int, packet.ClassMask, packet.ClassMask) {}

// OnPFC implements deadlock.Handler: a PAUSE carries the node that sends it.
func (h *roundabout) OnPFC(_ units.Time, _ int, f *packet.Packet, ext packet.Ext) packet.Ext {
	if _, pause, _ := f.PFC(); pause != 0 {
		ext = append(ext, uint64(h.s.ID())+1)
	}
	return ext
}

func (h *roundabout) send(now units.Time, port int, words ...uint64) {
	f := packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Loop, 0)}
	h.s.Send(now, port, &f, words)
}

// stuck reports whether a switch paused this egress and frames wait there.
func (h *roundabout) stuck(port int, class uint8) bool {
	return h.s.GatedClasses(port).Has(class) && h.pauser[port] != 0 && h.s.Head(port, class) != nil
}

// upstream sends a probe to every paused upstream that feeds a stuck egress.
func (h *roundabout) upstream(now units.Time, initiator uint64, out int, class uint8, first int) {
	for in := range h.s.Ports() {
		if h.s.PausedClasses(in).Has(class) && h.s.View().Pair(in, out, class).Packets > 0 {
			from := first
			if from < 0 {
				from = in
			}
			h.send(now, in, opProbe, initiator, uint64(class), uint64(from))
		}
	}
}

// Wake implements deadlock.Handler: it looks for stuck egress queues.
func (h *roundabout) Wake(now units.Time, _ int) {
	pending := false
	for port := range h.s.Ports() {
		for c := range uint8(mmu.Classes) {
			if !h.stuck(port, c) || h.loop.active {
				continue
			}
			pending = true
			if now-h.since[port][c] >= h.patient {
				h.upstream(now, uint64(h.s.ID()), port, c, -1)
			}
		}
	}
	if pending || h.loop.active {
		h.s.WakeAt(0, now+h.patient)
	}
}

// Control implements deadlock.Handler.
func (h *roundabout) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if f.Kind() == packet.PFC {
		h.pauser[port] = ext[0]
		return
	}
	l := &h.loop
	switch ext[0] {
	case opProbe:
		h.probe(now, port, ext[1], uint8(ext[2]), int(ext[3]))
	case opStart:
		if !l.active && h.probed.initiator == int(ext[1]>>32) {
			h.begin(now, ext[1], port, h.probed.out, uint8(ext[2]), false)
		}
	case opCredit:
		if !l.active || l.round != ext[1] {
			h.early.round, h.early.total = ext[1], ext[3]
			return
		}
		h.credit(now, ext[3])
	case opDone:
		if l.active && l.round == ext[1] {
			h.done(now)
		}
	case opEnd:
		if l.active && l.round == ext[1] {
			h.end(now)
		}
	}
}

// probe forwards a probe; the switch's own probe closes a loop.
func (h *roundabout) probe(now units.Time, out int, initiator uint64, class uint8, first int) {
	if h.loop.active || !h.stuck(out, class) {
		return
	}
	me := uint64(h.s.ID())
	switch {
	case initiator == me:
		h.rounds++
		h.begin(now, me<<32|h.rounds, first, out, class, true)
	case initiator < me: // the smallest node wins
		h.probed.initiator, h.probed.class, h.probed.out = int(initiator), int(class), out
		h.upstream(now, initiator, out, class, first)
	}
}

// firstCredit is the buffer that a switch sets aside before anything has moved.
const firstCredit = 8 * 1048

func (h *roundabout) begin(now units.Time, round uint64, in, out int, class uint8, coordinator bool) {
	h.loop = loop{active: true, coordinator: coordinator, round: round, in: in, out: out, class: class}
	bit := packet.MaskOf(class)
	for p := range h.s.Ports() {
		h.s.ArmIngress(p, bit)
	}
	h.s.ArmEgress(out, bit)
	h.s.HoldResume(now, in, bit)
	h.send(now, out, opStart, round, uint64(class), 0)
	if h.s.SetAside(firstCredit, mmu.Shared) {
		h.grant(now, firstCredit)
	}
	if h.early.round == round {
		h.credit(now, h.early.total)
	}
}

// grant tells the upstream the total it may force in this round.
func (h *roundabout) grant(now units.Time, b units.Bytes) {
	if h.loop.granted += uint64(b); b > 0 {
		h.send(now, h.loop.in, opCredit, h.loop.round, uint64(h.loop.class), h.loop.granted)
	}
}

func (h *roundabout) credit(now units.Time, total uint64) {
	if l := &h.loop; !l.ending {
		l.allowed = max(l.allowed, total)
		h.s.SetGate(now, l.out, l.class, deadlock.Open, units.Bytes(l.allowed-l.sent))
	}
}

// Arriving implements deadlock.Hook.
func (h *roundabout) Arriving(_ units.Time, p *packet.Packet, out *int) deadlock.Verdict {
	switch l := &h.loop; {
	case p.Port() == l.in:
		return deadlock.InLoop
	case *out == l.out:
		return deadlock.Aside
	default:
		return deadlock.Normal
	}
}

// Departing implements deadlock.Hook: it records the counters before the frame leaves.
func (h *roundabout) Departing(_ units.Time, _ int, p *packet.Packet) deadlock.Verdict {
	h.before.in, h.before.shared = h.s.View().Ingress(p.Port(), p.Class()), h.s.View().SharedSize()
	return deadlock.Normal
}

// Departed implements deadlock.Hook: the space that the frame released is set aside again and granted.
// Headroom counts only if it was the loop's own, because another ingress may need its headroom
// before the round ends.
func (h *roundabout) Departed(now units.Time, _ int, p *packet.Packet) {
	l := &h.loop
	l.sent += uint64(p.Size)
	if l.ending {
		return
	}
	v := h.s.View()
	size := units.Bytes(p.Size)
	after := v.Ingress(p.Port(), p.Class())
	shared := h.before.in.Shared - after.Shared + v.SharedSize() - h.before.shared
	if p.Port() != l.in {
		shared = size
	}
	granted := units.Bytes(0)
	if shared > 0 && h.s.SetAside(shared, mmu.Shared) {
		granted += shared
	}
	if own := size - shared; own > 0 && h.s.SetAside(own, mmu.Headroom) {
		granted += own
	}
	h.grant(now, granted)
	if v.Pair(l.in, l.out, l.class).Bytes < 2*1048 {
		if l.coordinator {
			h.done(now)
		} else {
			h.send(now, l.out, opDone, l.round, uint64(l.class), 0)
		}
	}
}

// done ends the round at the coordinator, or forwards the request to it.
func (h *roundabout) done(now units.Time) {
	l := &h.loop
	if !l.coordinator {
		h.send(now, l.out, opDone, l.round, uint64(l.class), 0)
		return
	}
	if !l.ending {
		h.shut(now)
	}
}

// shut stops forcing and sends the end downstream, behind the last forced frame.
func (h *roundabout) shut(now units.Time) {
	l := &h.loop
	l.ending = true
	h.s.SetGate(now, l.out, l.class, deadlock.Obey, 0)
	h.s.ArmEgress(l.out, 0)
	h.send(now, l.out, opEnd, l.round, uint64(l.class), 0)
}

// end follows the end message: no more forced frames will arrive.
func (h *roundabout) end(now units.Time) {
	l := &h.loop
	if !l.ending {
		h.shut(now)
	}
	h.s.GiveBack(h.s.View().Reserved())
	for p := range h.s.Ports() {
		h.s.ArmIngress(p, 0)
	}
	h.s.Splice(now, l.out, l.class)
	h.s.HoldResume(now, l.in, 0)
	for c := range uint8(mmu.Classes) {
		h.since[l.out][c] = now
	}
	h.loop = loop{}
	h.s.WakeAt(0, now+h.patient)
}

// Without a handler the ring is deadlocked: nothing moves any more.
func TestRingDeadlocks(t *testing.T) {
	for _, c := range []struct{ n, hops int }{{3, 2}, {4, 2}, {4, 3}} {
		half, full := conformance.Ring(c.n, c.hops, units.MB), conformance.Ring(c.n, c.hops, units.MB)
		half.Until, full.Until = 10*units.Millisecond, 20*units.Millisecond
		a, b := half.Run(), full.Run()
		if b.Unfinished() != c.n || a.Totals.Hops != b.Totals.Hops {
			t.Errorf("ring of %d, %d hops: %d flows unfinished, %d hops by 10 ms and %d by 20 ms", c.n, c.hops, b.Unfinished(), a.Totals.Hops, b.Totals.Hops)
		}
	}
}

// With the handler all flows of the same rings finish, in order and without drops.
func TestRoundaboutEndToEnd(t *testing.T) {
	for _, c := range []struct{ n, hops int }{{3, 2}, {4, 2}, {4, 3}} {
		n := conformance.Ring(c.n, c.hops, units.MB)
		n.Until = 100 * units.Millisecond
		n.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return roundaboutEntry.New(nil, s) }
		r := n.Run()
		if r.Err != nil || len(r.Broken) != 0 || r.Unfinished() != 0 || r.Totals.Forced == 0 {
			t.Errorf("ring of %d, %d hops: %v, %v, %d flows unfinished at %s, %d frames forced", c.n, c.hops, r.Err, r.Broken, r.Unfinished(), r.End, r.Totals.Forced)
		}
		for i := range r.Flows.Recv {
			if f := &r.Flows.Recv[i]; f.Early+f.Twice != 0 {
				t.Errorf("flow %d: %d early, %d duplicate packets", i, f.Early, f.Twice)
			}
		}
		for why, n := range r.Totals.Drops {
			if n != 0 {
				t.Errorf("%d drops with reason %d", n, why)
			}
		}
	}
}
