package dataplane

import (
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// This file implements the view that probes have of a node, and records the causes of pauses.

// probedNode is the probe.Node of a node.
type probedNode struct{ *node }

// probedSwitch is the probe.Node of a switch.
type probedSwitch struct {
	probedNode
	s *Switch
}

// probedNIC is the probe.Node of a NIC.
type probedNIC struct {
	probedNode
	nic *NIC
}

// Probe returns the view of the node for probes.
func (n *node) Probe() probe.Node { return n.probed }

// attach gives the sink access to its node.
func (n *node) attach(probed probe.Node) {
	n.probed = probed
	if a, ok := n.sink.(probe.Attached); ok {
		a.Attach(probed)
	}
}

// keepCauses starts recording the causes of pauses if a sink is attached.
func (n *node) keepCauses() {
	if n.sink != nil {
		n.causes = make([]pauseCause, len(n.ports)*mmu.Classes)
	}
}

// noteRelayed records that a pause that p sends was relayed from port from.
func (n *node) noteRelayed(p *port, from uint16, f *packet.Packet) {
	if n.causes == nil || f.Kind() != packet.PFC {
		return
	}
	_, pause, _ := f.PFC()
	for c := range pause.All() {
		n.causes[p.queueID(c)] = pauseCause{max(1, f.PauseDepth(c)), from, c}
	}
}

// tap is a driver that shows transmitted frames to a probe. It is installed only when a
// probe.Wire sink is attached.
type tap struct {
	Driver
	to probe.Wire
}

// Transmit implements Driver.
func (t *tap) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	t.to.Sent(port, p, carriedExt(p, ext))
	t.Driver.Transmit(port, p, ext, done)
}

// nicTap is a tap for a NIC.
type nicTap struct {
	NICDriver
	to probe.Wire
}

// Transmit implements Driver.
func (t *nicTap) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	t.to.Sent(port, p, carriedExt(p, ext))
	t.NICDriver.Transmit(port, p, ext, done)
}

// carriedExt returns the extension of a packet, or nil if it has none.
func carriedExt(p *packet.Packet, ext packet.Ext) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	return ext
}

// reportArrival reports an arriving frame to the probes.
func (n *node) reportArrival(now units.Time, in int, p *packet.Packet, ext packet.Ext) {
	if n.wireSink != nil {
		n.wireSink.Received(in, p, carriedExt(p, ext))
	}
	if n.sink != nil {
		n.sink.Arrive(now, in, p)
	}
}

func (p probedNode) Level(now units.Time, port int, class uint8) (q, xoff units.Bytes) {
	return p.policy.Level(now, p.view, port, class)
}

// Headroom returns the headroom that the flow control of a port reserved, or the size of the
// headroom pool that the port uses.
func (n *node) Headroom(port int) units.Bytes {
	if p := &n.ports[port]; !p.spec.Pooled {
		return p.reserved
	}
	return n.view.PoolSize(port)
}

// LosslessClasses returns the lossless classes of a port.
func (n *node) LosslessClasses(port int) packet.ClassMask { return n.ports[port].spec.Lossless }

func (p probedNode) EachGauged(use func(probe.Gauges)) {
	show := func(of probe.Source, scheme any, port int) {
		gauged, _ := scheme.(probe.Gauged)
		nodeGauged, _ := scheme.(probe.NodeGauged)
		if gauged != nil || nodeGauged != nil {
			use(probe.Gauges{Of: of, Scheme: gauged, Whole: nodeGauged, Port: port})
		}
	}
	show(probe.Policy, p.policy, 0)
	for i := range p.ports {
		show(probe.FlowControl, p.ports[i].recv, i)
		show(probe.FlowControl, p.ports[i].gate, i)
	}
	show(probe.Deadlock, p.handler, 0)
}

// report passes an event of a scheme to the sink.
func (n *node) report(now units.Time, of probe.Source, event string, port, class int, number int64) {
	if n.sink != nil {
		n.event = probe.Event{Of: of, Name: event, Port: port, Class: class, Flow: -1, Number: number}
		n.sink.Reported(now, &n.event)
	}
}

func (p probedNode) BlockedClasses(port int) packet.ClassMask { return p.ports[port].blocked }

func (p probedNode) OffClasses(port int) packet.ClassMask { return p.ports[port].off() }

// off returns the ingress classes that are OFF.
func (p *port) off() packet.ClassMask {
	if p.pausing != nil {
		return p.pausing.Paused()
	}
	return 0
}

func (p probedNode) PauseDepth(port int, class uint8) int {
	return int(p.ports[port].pauses.sentDepth[class])
}

// PauseCause implements probe.Causes.
func (p probedNode) PauseCause(port int, class uint8) (by int, byClass uint8, ok bool) {
	if p.causes == nil {
		return 0, 0, false
	}
	c := &p.causes[port*mmu.Classes+int(class)]
	return int(c.port), c.class, c.depth > 0
}

// Refused implements probe.Refuser. It is valid while a frame is being refused: s.arrival then
// describes that frame.
func (p probedSwitch) Refused(now units.Time) (out int, q, limit units.Bytes, ok bool) {
	d, ok := p.s.policy.(buffer.Dropping)
	if a := &p.s.arrival; ok && a.Kind == mmu.Lossy {
		q, limit = d.LossyLevel(now, p.s.view, a)
		return a.Out, q, limit, true
	}
	return 0, 0, 0, false
}

func (p probedNode) Rate(port int) units.Rate { return p.ports[port].spec.Rate }

// Ports returns the number of ports.
func (n *node) Ports() int { return len(n.ports) }

// View returns read access to the buffer.
func (n *node) View() mmu.View { return n.view }

// EachFlow does nothing: a switch has no flows.
func (probedNode) EachFlow(units.Time, func(probe.FlowState)) {}

// openQPs returns the open queue pairs, ordered by flow.
func (n *NIC) openQPs() []int32 {
	var open []int32
	for i := range n.qps {
		if q := &n.qps[i]; i > 0 && q.state != qpFree && !q.done {
			open = append(open, int32(i))
		}
	}
	slices.SortFunc(open, func(a, b int32) int { return int(n.qps[a].flow) - int(n.qps[b].flow) })
	return open
}

func (p probedNIC) EachFlow(now units.Time, use func(probe.FlowState)) {
	for _, i := range p.nic.openQPs() {
		q := &p.nic.qps[i]
		use(probe.FlowState{Flow: q.flow, Rate: q.ctl.Rate(now), Window: q.ctl.Window(now), InFlight: q.inFlight()})
	}
}

// reportSendable reports to probes whether a flow may send, apart from pacing.
func (n *NIC) reportSendable(now units.Time, q *qp) {
	if n.flowEnds != nil {
		n.flowEnds.MaySend(now, q.flow, q.hasMore() && !q.full())
	}
}

// reportLost reports to probes that a source considers packets lost.
func (n *NIC) reportLost(now units.Time, q *qp) {
	if n.flowEnds != nil {
		n.flowEnds.Lost(now, q.flow)
	}
}

// EachBuffered implements probe.Buffered.
func (p probedSwitch) EachBuffered(use func(out int, p *packet.Packet)) {
	for i := range p.s.ports {
		for class := range p.s.ports[i].queues {
			for _, q := range [2]fifo{p.s.ports[i].queues[class], p.s.forHandler.aside[i*mmu.Classes+class]} {
				for slot := q.head; slot != 0; slot = p.s.memory.next[slot] {
					use(i, &p.s.memory.packets[slot])
				}
			}
		}
	}
}

func (p probedNIC) EachGauged(use func(probe.Gauges)) {
	p.probedNode.EachGauged(use)
	for _, i := range p.nic.openQPs() {
		if g, ok := p.nic.qps[i].ctl.(probe.Gauged); ok {
			use(probe.Gauges{Of: probe.CC, Scheme: g, Flow: p.nic.qps[i].flow})
		}
	}
}

// flowEvents is the cc.Events of a NIC.
type flowEvents NIC

// Report implements cc.Events.
func (n *flowEvents) Report(now units.Time, flow uint32, event string, number int64) {
	n.event = probe.Event{Of: probe.CC, Name: event, Port: -1, Class: -1, Flow: int64(flow), Number: number}
	n.sink.Reported(now, &n.event)
}

// Lose drops a frame that the link corrupted.
func (n *node) Lose(now units.Time, port int, p *packet.Packet) {
	n.ports[port].rare().Drops[p.Class()][probe.Corrupt]++
	if n.sink != nil {
		n.sink.Drop(now, port, p, probe.Corrupt)
	}
}

// deepestPause returns the deepest pause that blocks frames that arrived on port in. Pauses are
// rare and blocked queues few, so it walks the queues; counting bytes per ingress and egress
// would slow down every frame. An empty queue that is OFF was paused because of its port
// (DSH); then frames of all classes count.
func (s *Switch) deepestPause(in *port, class uint8) pauseCause {
	mask := packet.MaskOf(class)
	if q := s.view.Ingress(int(in.index), class); q.Total() == 0 && in.off()&mask != 0 {
		mask = in.spec.Lossless
	}
	var deepest pauseCause
	for i := range s.ports {
		op := &s.ports[i]
		m := op.blocked & op.nonEmpty & mask
		if s.handler != nil { // otherwise only the gate blocks
			m = op.pauses.gated & op.nonEmpty & mask
		}
		for c := range m.All() {
			if int(op.pauses.recvDepth[c]) > deepest.depth && s.waitsFor(in, op, c) {
				deepest = pauseCause{int(op.pauses.recvDepth[c]), op.index, c}
			}
		}
	}
	return deepest
}

// waitsFor reports whether an egress queue stores a frame that arrived on port in.
func (s *Switch) waitsFor(in, op *port, class uint8) bool {
	for slot := op.queues[class&7].head; slot != 0; {
		if s.memory.packets[slot].Port() == int(in.index) {
			return true
		}
		slot = s.memory.next[slot]
	}
	return false
}
