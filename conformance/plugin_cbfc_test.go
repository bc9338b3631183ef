package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// cbfc is a miniature of InfiniBand's credits. Every receiver tells its upstream, per class, at the
// start and periodically, how many blocks of 64 B it may have sent in total (FCCL). The sender
// reports its total (FCTBS), so that lost frames do not lose credit. Hosts take part; nothing is
// ever paused.
type cbfc struct{ cbfcParams }

type cbfcParams struct {
	Period units.Time `yaml:"period"`
}

var cbfcEntry = registry.Entry[flowctl.New]{
	Name: "test-cbfc", Doc: "credits on every link", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
	Params: func() any { return &cbfcParams{Period: 2 * units.Microsecond} },
	New:    func(p any) (flowctl.Scheme, error) { return cbfc{*p.(*cbfcParams)}, nil },
}

const block units.Bytes = 64

// blocks returns the cost of a frame. Both ends round to cells first, because a receiver sees only
// cells.
func blocks(p *link.Port, b units.Bytes) uint64 {
	if p.Cell > 1 {
		b = (b + p.Cell - 1) / p.Cell * p.Cell
	}
	return uint64((b + block - 1) / block)
}

// Properties implements flowctl.Scheme.
func (cbfc) Properties() flowctl.Properties { return flowctl.Properties{AtHosts: true} }

// lane returns the buffer of each class of a port: a round trip and two periods, in whole blocks.
func (s cbfc) lane(p *link.Port) units.Bytes {
	return (p.Rate.In(p.DelayIn+p.DelayOut+2*s.Period) + 4*p.MTU) / block * block
}

// Reserve implements flowctl.Scheme.
func (s cbfc) Reserve(p *link.Port) units.Bytes {
	return p.Queues() * s.lane(p)
}

// Receiver implements flowctl.Scheme.
func (s cbfc) Receiver(p flowctl.Port) flowctl.Receiver {
	p.Request(0)
	return &cbfcReceiver{port: p, period: s.Period, lane: s.lane(p.Spec()), due: true}
}

// Gate implements flowctl.Scheme.
func (s cbfc) Gate(p flowctl.Port) flowctl.Gate {
	p.Meter(p.Spec().Lossless)
	p.WakeAt(0, s.Period)
	return &cbfcGate{port: p, period: s.Period}
}

type cbfcReceiver struct {
	port   flowctl.Port
	period units.Time
	lane   units.Bytes
	due    bool
	abr    [mmu.Classes]uint64     // blocks that arrived
	stored [mmu.Classes]uint64     // blocks stored
	left   [mmu.Classes]units.Time // last departures
}

func (r *cbfcReceiver) Place(_ units.Time, a *mmu.Arrival) mmu.Segment {
	if units.Bytes(r.stored[a.Class]+blocks(r.port.Spec(), a.Bytes))*block <= r.lane {
		return mmu.Headroom
	}
	return mmu.Drop
}

func (r *cbfcReceiver) Charged(_ units.Time, a *mmu.Arrival, _ mmu.Segment) {
	n := blocks(r.port.Spec(), a.Bytes)
	r.abr[a.Class] += n
	r.stored[a.Class] += n
}

func (r *cbfcReceiver) Released(now units.Time, a *mmu.Arrival) {
	r.left[a.Class] = now
	r.stored[a.Class] -= blocks(r.port.Spec(), a.Bytes)
}

// Resumes implements flowctl.Resuming: there will be credit for the next frame. The remaining frames
// take no more blocks than their bytes fill.
func (r *cbfcReceiver) Resumes(_ units.Time, rest *flowctl.Rest) bool {
	stored := r.stored[rest.Class]
	if rest.Moves.Has(rest.Class) {
		in := rest.View.Ingress(r.port.Index(), rest.Class)
		stored = uint64((in.Total() + block - 1) / block)
	}
	return units.Bytes(stored+blocks(r.port.Spec(), rest.Next))*block <= r.lane
}

// Quiet implements flowctl.Resuming.
func (r *cbfcReceiver) Quiet(class uint8) units.Time { return r.left[class] }

// Control handles FCTBS: blocks sent before it that did not arrive are lost.
func (r *cbfcReceiver) Control(_ units.Time, _ *packet.Packet, ext packet.Ext) { copy(r.abr[:], ext) }

// Frame sends FCCL: blocks that arrived plus free room.
func (r *cbfcReceiver) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if !r.due {
		return ext, false
	}
	r.due = false
	*f = packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Feedback, 0)}
	for c := range r.abr {
		ext = append(ext, r.abr[c]+uint64(r.lane/block)-r.stored[c])
	}
	r.port.WakeAt(0, now+r.period)
	return ext, true
}

func (r *cbfcReceiver) Wake(now units.Time, _ int) {
	r.due = true
	r.port.Request(now)
}

func (r *cbfcReceiver) Reset(now units.Time, _ bool) {
	r.abr = [mmu.Classes]uint64{}
	r.Wake(now, 0)
}

type cbfcGate struct {
	port   flowctl.Port
	period units.Time
	due    bool
	fccl   [mmu.Classes]uint64 // total blocks that may be sent
	fctbs  [mmu.Classes]uint64 // blocks sent
}

func (g *cbfcGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if f.Kind() == packet.Feedback {
		copy(g.fccl[:], ext)
		g.port.Kick(now)
	}
}

func (g *cbfcGate) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if !g.due {
		return ext, false
	}
	g.due = false
	*f = packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Request, 0)}
	g.port.WakeAt(0, now+g.period)
	return append(ext, g.fctbs[:]...), true
}

func (g *cbfcGate) Wake(now units.Time, _ int) {
	g.due = true
	g.port.Request(now)
}

func (g *cbfcGate) Reset(units.Time, bool) {
	g.fccl, g.fctbs = [mmu.Classes]uint64{}, [mmu.Classes]uint64{}
}

func (g *cbfcGate) May(_ units.Time, class uint8, b units.Bytes) bool {
	return int64(g.fccl[class]-g.fctbs[class]) >= int64(blocks(g.port.Spec(), b))
}

func (g *cbfcGate) Sent(_ units.Time, class uint8, b units.Bytes) {
	g.fctbs[class] += blocks(g.port.Spec(), b)
}

// Credits replace PFC in a leaf-spine fabric with an incast: no frame is dropped and no PAUSE is sent.
func TestCBFCEndToEnd(t *testing.T) {
	cfg := incast(t)
	cfg.Switch.FlowControl.Name, cfg.Switch.FlowControl.Params = cbfcEntry.Name, cbfcEntry.Params()
	total := runScenario(t, cfg, nil)
	if total.Pauses != 0 {
		t.Errorf("%d pauses without PFC", total.Pauses)
	}
	if total.Control == 0 {
		t.Error("no credits were sent")
	}
}
