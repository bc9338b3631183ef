package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// bifrost is a miniature of BifrostX. Once per slot the receiver grants, in total and per class, the
// room that is left after stored bytes and earlier grants. The sender shares a grant among its
// queues, by priority and waiting bytes, each time it sends a frame.
type bifrost struct{ bifrostParams }

type bifrostParams struct {
	Slot units.Time `yaml:"slot"`
}

var bifrostEntry = registry.Entry[flowctl.New]{
	Name: "test-bifrostx", Doc: "slotted tokens", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
	Params: func() any { return &bifrostParams{Slot: units.Microsecond} },
	New:    func(p any) (flowctl.Scheme, error) { return bifrost{*p.(*bifrostParams)}, nil },
}

// window is the number of slots whose grants may still be in flight: a round trip, the slot in which
// they are used, and a frame before the feedback.
func (s bifrost) window(p *link.Port) int {
	return int((p.DelayIn+p.DelayOut+2*p.Rate.TxTime(p.MTU+p.WireOverhead)+s.Slot-1)/s.Slot) + 2
}

// perByte returns the largest buffer space that a byte on the wire can take, in cells.
func perByte(p *link.Port) units.Bytes {
	if p.Cell <= 1 {
		return 1
	}
	frame := max(1, p.MinFrame)
	return ((frame+p.Cell-1)/p.Cell*p.Cell + frame - 1) / frame
}

// Reserve implements flowctl.Scheme: H, for all classes together.
func (s bifrost) Reserve(p *link.Port) units.Bytes {
	return perByte(p) * (units.Bytes(s.window(p)+2)*p.Rate.In(s.Slot) + 4*p.MTU)
}

// Properties implements flowctl.Scheme.
func (s bifrost) Properties() flowctl.Properties { return flowctl.Properties{} }

// Receiver implements flowctl.Scheme.
func (s bifrost) Receiver(p flowctl.Port) flowctl.Receiver {
	r := &bifrostReceiver{port: p, slot: s.Slot, full: p.Spec().Rate.In(s.Slot), limit: s.Reserve(p.Spec()), grants: make([]units.Bytes, s.window(p.Spec()))}
	for i := range r.grants {
		r.grants[i] = r.full // grants that the sender assumes before the first feedback
	}
	p.WakeAt(0, s.Slot)
	return r
}

// Gate implements flowctl.Scheme.
func (s bifrost) Gate(p flowctl.Port) flowctl.Gate {
	p.Meter(p.Spec().Lossless)
	g := &bifrostGate{port: p, slot: s.Slot}
	g.refill()
	p.WakeAt(0, s.Slot)
	return g
}

type bifrostReceiver struct {
	port   flowctl.Port
	slot   units.Time
	full   units.Bytes // R_s T
	limit  units.Bytes // H
	grants []units.Bytes
	at     int
	due    bool
	last   [mmu.Classes]units.Bytes // L_i one slot ago
}

func (r *bifrostReceiver) Place(_ units.Time, a *mmu.Arrival) mmu.Segment {
	if r.port.View().IngressPort(a.In, r.port.Spec().Lossless).Headroom+a.Bytes <= r.limit {
		return mmu.Headroom
	}
	return mmu.Drop
}

func (r *bifrostReceiver) Charged(units.Time, *mmu.Arrival, mmu.Segment)  {}
func (r *bifrostReceiver) Released(units.Time, *mmu.Arrival)              {}
func (r *bifrostReceiver) Control(units.Time, *packet.Packet, packet.Ext) {}

// Resumes implements flowctl.Resuming. Unused grants expire, so the next frame gets one when H has
// room for it.
func (r *bifrostReceiver) Resumes(_ units.Time, rest *flowctl.Rest) bool {
	port := rest.View.IngressPort(r.port.Index(), r.port.Spec().Lossless)
	return (r.limit-port.Total())/perByte(r.port.Spec()) >= rest.Next
}

// Quiet implements flowctl.Resuming: the receiver checks its queues in every slot.
func (r *bifrostReceiver) Quiet(uint8) units.Time { return 0 }

// Frame sends the grants for one slot: c_max and the c_i.
func (r *bifrostReceiver) Frame(_ units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if !r.due {
		return ext, false
	}
	r.due = false
	*f = packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Feedback, 0)}
	stored, flight := units.Bytes(0), units.Bytes(0)
	r.grants[r.at] = 0
	for _, g := range r.grants {
		flight += g
	}
	ext = append(ext, 0)
	for c := range uint8(mmu.Classes) {
		l := r.port.View().In(r.port.Index(), c, mmu.Headroom)
		ext = append(ext, uint64(max(0, r.full-max(0, l-r.last[c]))))
		r.last[c] = l
		stored += l
	}
	grant := max(0, min(r.full, (r.limit-stored)/perByte(r.port.Spec())-flight))
	r.grants[r.at] = grant
	r.at = (r.at + 1) % len(r.grants)
	ext[0] = uint64(grant)
	return ext, true
}

func (r *bifrostReceiver) Wake(now units.Time, _ int) {
	r.due = true
	r.port.Request(now)
	r.port.WakeAt(0, now+r.slot)
}

// Reset voids all grants.
func (r *bifrostReceiver) Reset(units.Time, bool) { clear(r.grants) }

type bifrostGate struct {
	port  flowctl.Port
	slot  units.Time
	max   units.Bytes // rest of c_max
	left  [mmu.Classes]units.Bytes
	heard bool
}

func (g *bifrostGate) refill() {
	g.max = g.port.Spec().Rate.In(g.slot)
	for c := range g.left {
		g.left[c] = g.max
	}
}

func (g *bifrostGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if f.Kind() != packet.Feedback {
		return
	}
	g.heard = true
	g.max = units.Bytes(ext[0])
	for c := range g.left {
		g.left[c] = units.Bytes(ext[1+c])
	}
	g.port.Kick(now)
}

func (g *bifrostGate) Frame(_ units.Time, _ *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	return ext, false
}

// Wake refills the tokens of a slot until the first feedback arrives.
func (g *bifrostGate) Wake(now units.Time, _ int) {
	if !g.heard {
		g.refill()
		g.port.WakeAt(0, now+g.slot)
		g.port.Kick(now)
	}
}

// Reset stops sending until the next feedback, because the peer may be full.
func (g *bifrostGate) Reset(units.Time, bool) {
	g.heard, g.max = true, 0
	g.port.WakeAt(0, units.Never)
}

// May leaves tokens to waiting frames of higher priority.
func (g *bifrostGate) May(_ units.Time, class uint8, b units.Bytes) bool {
	ahead := units.Bytes(0)
	for c := range class {
		if g.port.Spec().Lossless.Has(c) {
			ahead += min(g.port.Waiting(c), g.left[c])
		}
	}
	return b <= g.left[class] && b <= g.max-min(ahead, g.max)
}

func (g *bifrostGate) Sent(_ units.Time, class uint8, b units.Bytes) {
	g.left[class] -= b
	g.max -= b
}

// A link with 100 us delay uses tokens, all other ports PFC.
func TestBifrostEndToEnd(t *testing.T) {
	cfg := incast(t)
	tree := cfg.Topology.Params.(*topo.LeafSpineParams)
	tree.Leaves, tree.Spines = 2, 1
	cfg.Switch.Buffer.Size = 24 * units.MiB
	burst := cfg.Workload[0].Params.(*workload.Incast)
	burst.Senders, burst.Size = 7, units.MB // three senders share a leaf with the receiver
	granted := uint64(0)
	total := runScenario(t, cfg, func(b *fabric.Fabric) { granted = longHaul(b, 100*units.Microsecond, 10*units.Microsecond) })
	if total.Pauses == 0 {
		t.Error("no pause on the short links")
	}
	// Half of the long link's traffic is blocked. Grants shrink when more than two slots of 125 KB
	// are stored behind it.
	if total.PeakHeadroom < 300*units.KB {
		t.Errorf("only %s were stored behind the long link", total.PeakHeadroom)
	}
	if total.Control < granted {
		t.Errorf("%d control frames in the whole run, want at least %d", total.Control, granted)
	}
}

// longHaul lengthens the cable between the second leaf and the spine and puts slotted tokens on both
// of its ends. It returns a lower bound of the number of feedback frames.
func longHaul(b *fabric.Fabric, delay, slot units.Time) uint64 {
	hosts := len(b.Spec.Hosts)
	scheme := bifrost{bifrostParams{Slot: slot}}
	c := &b.Spec.Cables[len(b.Spec.Cables)-1]
	c.AtoB, c.BtoA = delay, delay
	for _, e := range []struct{ node, port int }{{c.A.Node, c.A.Port}, {c.B.Node, c.B.Port}} {
		s := b.Spec.Switches[e.node-hosts]
		s.Ports[e.port].DelayIn, s.Ports[e.port].DelayOut = delay, delay
		s.Flow[e.port] = scheme
	}
	return uint64(2 * delay / slot)
}
