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

// dsh is a miniature of Dynamic and Shared Headroom without its estimator (tau = 0). It has a pause
// per queue and a pause per port. The shared segment is admitted by the occupancy of the port, and
// the insurance covers one worst case per port instead of one per queue. T comes from the policy.
type dsh struct{}

var dshEntry = registry.Entry[flowctl.New]{
	Name: "test-dsh", Doc: "two-level pause", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
	New: func(any) (flowctl.Scheme, error) { return dsh{}, nil },
}

// Reserve implements flowctl.Scheme: one insurance per port.
func (dsh) Reserve(p *link.Port) units.Bytes {
	return link.Headroom{Rule: link.RuleExact}.Of(p)
}

// Properties implements flowctl.Scheme.
func (dsh) Properties() flowctl.Properties { return flowctl.Properties{} }

// Gate implements flowctl.Scheme: with plain PFC the upstream sees the union of both levels.
func (dsh) Gate(p flowctl.Port) flowctl.Gate { return flowctl.NewPauseGate(p) }

// Receiver implements flowctl.Scheme.
func (s dsh) Receiver(p flowctl.Port) flowctl.Receiver {
	mask := p.Spec().Lossless
	return &dshReceiver{
		PauseSender: flowctl.NewPauseSender(p), port: p, all: mask,
		queues: units.Bytes(mask.Count()), insurance: s.Reserve(p.Spec()),
	}
}

type dshReceiver struct {
	flowctl.PauseSender
	port      flowctl.Port
	all       packet.ClassMask
	queues    units.Bytes      // N_q
	insurance units.Bytes      // PHI
	off       packet.ClassMask // queues that are OFF
	portOff   bool
	left      [mmu.Classes]units.Time // last departures
}

// levels returns the port's occupancy and T.
func (r *dshReceiver) levels(now units.Time, class uint8) (port mmu.Ingress, t units.Bytes) {
	v := r.port.View()
	_, t = r.port.Policy().Level(now, v, r.port.Index(), class)
	return v.IngressPort(r.port.Index(), r.all), t
}

// Place chooses private, shared by the port's occupancy, then insurance.
func (r *dshReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	v := r.port.View()
	if v.In(a.In, a.Class, mmu.Private)+a.Bytes <= v.PrivateSize() {
		return mmu.Private
	}
	port, t := r.levels(now, a.Class)
	switch {
	case port.Shared+a.Bytes <= r.queues*t && a.Bytes <= v.SharedFree():
		return mmu.Shared
	case port.Headroom+a.Bytes <= r.insurance:
		return mmu.Headroom
	default:
		return mmu.Drop
	}
}

func (r *dshReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	if s == mmu.Headroom {
		r.portOff = true
	}
	r.update(now, a.Class)
}

func (r *dshReceiver) Released(now units.Time, a *mmu.Arrival) {
	r.left[a.Class] = now
	r.update(now, a.Class)
}

// Resumes implements flowctl.Resuming. A port is re-evaluated when a frame of any of its queues
// leaves, a queue only when one of its own frames leaves.
func (r *dshReceiver) Resumes(now units.Time, rest *flowctl.Rest) bool {
	_, t := r.port.Policy().Level(now, rest.View, r.port.Index(), rest.Class)
	port := rest.View.IngressPort(r.port.Index(), r.all)
	q := rest.View.Ingress(r.port.Index(), rest.Class)
	bit := packet.MaskOf(rest.Class)
	portOn := !r.portOff || rest.Moves != 0 && (port.Headroom == 0 && port.Shared < r.queues*t || port.Shared+port.Headroom == 0)
	queueOn := r.off&bit == 0 || rest.Moves&bit != 0 && (q.Shared < t || q.Shared+q.Headroom == 0)
	return portOn && queueOn
}

// Quiet implements flowctl.Resuming.
func (r *dshReceiver) Quiet(class uint8) units.Time { return r.left[class] }

// update runs both state machines and requests the union of their pauses.
func (r *dshReceiver) update(now units.Time, class uint8) {
	port, t := r.levels(now, class)
	q := r.port.View().Ingress(r.port.Index(), class)
	bit := packet.MaskOf(class)
	switch {
	case q.Shared > t:
		r.off |= bit
	case q.Shared < t || q.Shared+q.Headroom == 0:
		r.off &^= bit
	}
	switch {
	case port.Shared > r.queues*t:
		r.portOff = true
	case port.Headroom == 0 && port.Shared < r.queues*t || port.Shared+port.Headroom == 0:
		r.portOff = false
	}
	if r.portOff {
		r.Want(now, r.all)
	} else {
		r.Want(now, r.off)
	}
}

// With 1/7 of SIH's headroom an incast is still lossless. The buffer is so small that frames in
// flight do not fit under N_q T: ports are paused and use their insurance.
func TestDSHEndToEnd(t *testing.T) {
	cfg := incast(t)
	cfg.Switch.Buffer.Size = 450 * units.KB
	cfg.Switch.FlowControl.Name, cfg.Switch.FlowControl.Params = dshEntry.Name, nil
	total := runScenario(t, cfg, nil)
	if total.Pauses == 0 || total.Pauses != total.Resumes {
		t.Errorf("%d pauses, %d resumes", total.Pauses, total.Resumes)
	}
	if total.PeakHeadroom == 0 {
		t.Error("the insurance was never used")
	}
}
