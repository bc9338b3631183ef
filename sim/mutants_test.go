package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// Mutants are flow-control schemes and engines with one mistake each. The property test
// must catch every one of them.

// mutantScheme is PFC with a different headroom or receiver.
type mutantScheme struct {
	params   flowctl.SIHParams
	headroom func(*link.Port) units.Bytes
	wrap     func(flowctl.Port, flowctl.Receiver) flowctl.Receiver
}

// sih returns the real scheme with this mutant's headroom for a port.
func (m *mutantScheme) sih(p *link.Port) flowctl.Scheme {
	e, err := flowctl.Schemes.Get("pfc")
	if err != nil {
		panic(err)
	}
	params := m.params
	if m.headroom != nil {
		params.Headroom = link.Headroom{Rule: link.RuleBytes, Bytes: m.headroom(p)}
	}
	s, err := e.New(&params)
	if err != nil {
		panic(err)
	}
	return s
}

func (m *mutantScheme) Reserve(p *link.Port) units.Bytes { return m.sih(p).Reserve(p) }

func (m *mutantScheme) Properties() flowctl.Properties { return flowctl.Properties{} }

func (m *mutantScheme) Gate(p flowctl.Port) flowctl.Gate { return flowctl.NewPauseGate(p) }

func (m *mutantScheme) Receiver(p flowctl.Port) flowctl.Receiver {
	r := m.sih(p.Spec()).Receiver(p)
	if m.wrap != nil {
		r = m.wrap(p, r)
	}
	return r
}

// oneShort returns a headroom that is one full frame too small.
func oneShort(p *link.Port) units.Bytes { return link.Exact(p) - p.MTU }

// skipsResume omits every fourth RESUME.
type skipsResume struct {
	flowctl.Receiver
	n int
}

func (r *skipsResume) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	ext, ok := r.Receiver.Frame(now, f, ext)
	if ok {
		if _, pause, _ := f.PFC(); pause == 0 {
			if r.n++; r.n%4 == 0 {
				return ext, false
			}
		}
	}
	return ext, ok
}

// resumesEarly ends a pause at the first release, as if headroom were the last segment to
// be freed.
type resumesEarly struct {
	flowctl.Receiver
	sender interface {
		Want(units.Time, packet.ClassMask)
		Paused() packet.ClassMask
	}
}

func (r *resumesEarly) Released(now units.Time, a *mmu.Arrival) {
	r.sender.Want(now, r.sender.Paused()&^(1<<a.Class))
}

// forgetsRefresh lets pauses expire.
type forgetsRefresh struct{ flowctl.Receiver }

func (forgetsRefresh) Wake(units.Time, int) {}

func init() {
	for _, m := range []struct {
		name     string
		headroom func(*link.Port) units.Bytes
		wrap     func(flowctl.Port, flowctl.Receiver) flowctl.Receiver
	}{
		{"one-short", oneShort, nil},
		{"skips-resume", nil, func(_ flowctl.Port, r flowctl.Receiver) flowctl.Receiver { return &skipsResume{Receiver: r} }},
		{"resumes-early", nil, func(_ flowctl.Port, r flowctl.Receiver) flowctl.Receiver {
			return &resumesEarly{r, r.(interface {
				Want(units.Time, packet.ClassMask)
				Paused() packet.ClassMask
			})}
		}},
		{"forgets-refresh", nil, func(_ flowctl.Port, r flowctl.Receiver) flowctl.Receiver { return forgetsRefresh{r} }},
	} {
		flowctl.Schemes.Register(registry.Entry[flowctl.New]{Name: m.name, New: func(params any) (flowctl.Scheme, error) {
			return &mutantScheme{*params.(*flowctl.SIHParams), m.headroom, m.wrap}, nil
		}})
	}
}

func TestMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name   string
		scheme string // flow control; empty for the real one
		engine []engine
	}{
		{name: "headroom one MTU short", scheme: "one-short"},
		{name: "a RESUME skipped", scheme: "skips-resume"},
		{name: "a pause ended while headroom is in use", scheme: "resumes-early"},
		{name: "a refresh forgotten", scheme: "forgets-refresh"},
		{name: "an engine that ignores event classes", engine: []engine{byInsertion(reference)}},
	} {
		t.Run(m.name, func(t *testing.T) {
			tried := 0
			for i := range 150 {
				c := drawCase(i, 2000)
				if m.scheme != "" {
					if _, sih := c.cfg.Switch.FlowControl.Params.(*flowctl.SIHParams); !sih || c.loses != "" {
						continue // another scheme, or loss is permitted
					}
					c.cfg.Switch.FlowControl.Name = m.scheme
					c.cfg.Switch.Buffer.Cell = 1 // cells would hide a missing frame
				}
				tried++
				if _, err := c.check(m.engine...); err != nil {
					t.Logf("caught by case number %d, index %d: %v", tried, i, err)
					return
				}
			}
			t.Errorf("not caught by %d cases", tried)
		})
	}
}
