package conformance_test

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// newPFC builds a correct scheme for mutants to break.
func newPFC(p *flowctl.SIHParams) flowctl.Scheme {
	e, err := flowctl.Schemes.Get("pfc")
	if err != nil {
		panic(err)
	}
	s, err := e.New(p)
	if err != nil {
		panic(err)
	}
	return s
}

// mutant is PFC with some calls replaced.
type mutant struct {
	flowctl.Scheme
	reserve  func(*link.Port) units.Bytes
	receiver func(flowctl.Port, flowctl.Receiver) flowctl.Receiver
	gate     func(flowctl.Port, flowctl.Gate) flowctl.Gate
}

func (m *mutant) Reserve(p *link.Port) units.Bytes {
	if m.reserve != nil {
		return m.reserve(p)
	}
	return m.Scheme.Reserve(p)
}

func (m *mutant) Receiver(p flowctl.Port) flowctl.Receiver {
	r := m.Scheme.Receiver(p)
	if m.receiver != nil {
		return m.receiver(p, r)
	}
	return r
}

func (m *mutant) Gate(p flowctl.Port) flowctl.Gate {
	g := m.Scheme.Gate(p)
	if m.gate != nil {
		return m.gate(p, g)
	}
	return g
}

type sticky struct{ flowctl.Receiver }

func (s sticky) Released(units.Time, *mmu.Arrival) {}

type impatient struct {
	flowctl.Receiver
	p flowctl.Port
}

func (s impatient) Charged(now units.Time, a *mmu.Arrival, seg mmu.Segment) {
	s.Receiver.Charged(now, a, seg)
	s.p.WakeAt(0, now)
}

func (s impatient) Wake(units.Time, int) {}

type wasteful struct{ flowctl.Receiver }

var kept *mmu.Arrival

func (s wasteful) Charged(now units.Time, a *mmu.Arrival, seg mmu.Segment) {
	kept = new(mmu.Arrival)
	*kept = *a
	s.Receiver.Charged(now, a, seg)
}

type moody struct{ *flowctl.PauseSender }

func (moody) Place(units.Time, *mmu.Arrival) mmu.Segment { return mmu.Shared }
func (m moody) Charged(now units.Time, a *mmu.Arrival, _ mmu.Segment) {
	m.Want(now, packet.ClassMask(rand.Uint32())&0x02)
}
func (m moody) Released(now units.Time, _ *mmu.Arrival) { m.Want(now, 0) }

// hasty pauses at half of the threshold, or at a quarter when a frame leaves. The only shortcut it
// can allow is Passing.
type hasty struct {
	flowctl.PauseSender
	p       flowctl.Port
	room    units.Bytes
	allowed flowctl.Shortcuts
}

func (r *hasty) Shortcuts() flowctl.Shortcuts { return r.allowed }

func (r *hasty) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	v := r.p.View()
	switch {
	case v.In(a.In, a.Class, mmu.Private)+a.Bytes <= v.PrivateSize():
		return mmu.Private
	case r.p.Policy().Fits(now, v, a):
		return mmu.Shared
	case v.In(a.In, a.Class, mmu.Headroom)+a.Bytes <= r.room:
		return mmu.Headroom
	}
	return mmu.Drop
}

func (r *hasty) update(now units.Time, class uint8, part units.Bytes) {
	q, xoff := r.p.Policy().Level(now, r.p.View(), r.p.Index(), class)
	in := r.p.View().Ingress(r.p.Index(), class)
	want := r.Paused() &^ (1 << class)
	if in.Headroom > 0 || q > xoff/part && in.Total() > 0 {
		want |= 1 << class
	}
	if want != r.Paused() {
		r.Want(now, want)
	}
}

func (r *hasty) Charged(now units.Time, a *mmu.Arrival, _ mmu.Segment) { r.update(now, a.Class, 2) }
func (r *hasty) Released(now units.Time, a *mmu.Arrival)               { r.update(now, a.Class, 4) }

// welcoming claims that no arrival matters.
type welcoming struct{}

func (welcoming) Arrived(units.Time, uint8, units.Bytes) bool { return true }

func newHasty(allowed flowctl.Shortcuts) flowctl.Scheme {
	return &mutant{Scheme: newPFC(&flowctl.SIHParams{}), receiver: func(p flowctl.Port, _ flowctl.Receiver) flowctl.Receiver {
		return &hasty{PauseSender: flowctl.NewPauseSender(p), p: p, room: link.Needed(p.Spec()), allowed: allowed}
	}}
}

func TestFlowControlAcceptsTrueShortcuts(t *testing.T) {
	conformance.FlowControl(t, registry.Entry[flowctl.New]{
		Name: "true", Promises: registry.Lossless | registry.InOrder | registry.Bounded,
		New: func(any) (flowctl.Scheme, error) { return newHasty(flowctl.Shortcuts{Passing: true}), nil },
	})
}

type deafGate struct{ flowctl.Gate }

func (deafGate) Reset(units.Time, bool) {}

func TestFlowControlRejects(t *testing.T) {
	all := registry.Lossless | registry.InOrder | registry.Bounded
	small := &flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 53208 - 1048}}
	for _, c := range []struct {
		name, want string
		promises   registry.Promise
		scheme     flowctl.Scheme
	}{
		// The trunk needs 2 x 25,000 B for the wire, 3 x 1048 B and 64 B: 53,208 B.
		{"headroom one frame too small", "lossless", all, newPFC(small)},
		{"pause that is never resumed", "did not finish", all, &mutant{Scheme: newPFC(&flowctl.SIHParams{}), receiver: func(_ flowctl.Port, r flowctl.Receiver) flowctl.Receiver { return sticky{r} }}},
		{"wake that is not in the future", "wake contract", all, &mutant{Scheme: newPFC(&flowctl.SIHParams{}), receiver: func(p flowctl.Port, r flowctl.Receiver) flowctl.Receiver { return impatient{r, p} }}},
		{"allocation per packet", "allocations", all, &mutant{Scheme: newPFC(&flowctl.SIHParams{}), receiver: func(_ flowctl.Port, r flowctl.Receiver) flowctl.Receiver { return wasteful{r} }}},
		{"random decisions", "differ", registry.InOrder, &mutant{Scheme: newPFC(&flowctl.SIHParams{}), receiver: func(p flowctl.Port, _ flowctl.Receiver) flowctl.Receiver {
			s := flowctl.NewPauseSender(p)
			return moody{&s}
		}}},
		{"admissions that matter are skipped", "shortcuts", all, newHasty(flowctl.Shortcuts{Passing: true, Admit: true})},
		{"releases that matter are skipped", "shortcuts", all, newHasty(flowctl.Shortcuts{Passing: true, Release: true})},
		{"arrivals that matter are skipped", "shortcuts", all, newHasty(flowctl.Shortcuts{Passing: true, Arrived: welcoming{}})},
		{"more headroom used than reserved", "bounded", all, &mutant{Scheme: newPFC(&flowctl.SIHParams{}), reserve: func(*link.Port) units.Bytes { return 2000 }}},
		{"gate that survives its link", "did not finish", all, &mutant{Scheme: newPFC(&flowctl.SIHParams{}), gate: func(_ flowctl.Port, g flowctl.Gate) flowctl.Gate { return deafGate{g} }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := registry.Entry[flowctl.New]{Name: "mutant", Promises: c.promises, New: func(any) (flowctl.Scheme, error) { return c.scheme, nil }}
			mustReject(t, c.want, func(tb testing.TB) { conformance.FlowControl(tb, e) })
		})
	}
}
