package conformance

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// relays adds relays to the long link of a case. buffer is the buffer of their long side; wrap may
// change the scheme of a side.
func (h *haul) relays(buffer units.Bytes, wrap func(side string, s flowctl.Scheme) flowctl.Scheme) {
	e := must(flowctl.Schemes.Get("swing"))
	side := func(name string) flowctl.Scheme {
		p := e.Params().(*flowctl.SwingParams)
		p.Side, p.Buffer = name, buffer
		s := must(e.New(p))
		if wrap != nil {
			s = wrap(name, s)
		}
		return s
	}
	h.relay = true
	h.classes(max(1, h.mixed))
	pfc, sides := h.n.Flow(0, 0), []flowctl.Scheme{side("short"), side("long")}
	h.n.Flow = func(node, port int) flowctl.Scheme {
		if node < 6 {
			return pfc
		}
		return sides[port]
	}
}

// bdp returns the bandwidth-delay product of the long link.
func (h *haul) bdp() units.Bytes { return h.rate.In(2*h.delay) + 64 + 2*haulMTU }

// The far relay never overflows with a bandwidth-delay product plus 1 MiB, and all flows finish.
func TestSwingKeepsItsPromise(t *testing.T) { checkSwingPromise(t, trials.First(40)) }

func checkSwingPromise(t *testing.T, which []int) {
	t.Helper()
	filled, most := 0, units.Bytes(0)
	for _, i := range which {
		h := newHaul(i)
		h.mixed = []int{1, 3, 7}[i%3]
		h.relays(0, nil)
		r := h.n.Run()
		if problem := problems(r); problem != "" {
			t.Errorf("case %d: %s (%s, %s, drain %v)", i, problem, h.rate, h.delay, h.drain)
			continue
		}
		peak := r.Views[3].Peak(mmu.Headroom) // relay1, all classes
		if h.mixed == 1 {
			most = max(most, peak-h.bdp())
		}
		if peak > h.bdp()/2 {
			filled++
		}
	}
	t.Logf("of %d cases %d fill half a bandwidth-delay product; with one class at most %d B beyond it", len(which), filled, most)
	if filled < len(which)/4 {
		t.Error("the cases do not cover enough")
	}
}

// The property must detect these mistakes in relays, with 64 KB instead of 1 MiB.
func TestSwingMutantsAreCaught(t *testing.T) {
	gate := func(of string, wrap func(flowctl.Gate) flowctl.Gate) func(string, flowctl.Scheme) flowctl.Scheme {
		return func(side string, s flowctl.Scheme) flowctl.Scheme {
			if side != of {
				return s
			}
			return &gateMutant{s, wrap}
		}
	}
	for _, m := range []struct {
		name, want string
		part       units.Bytes // part of the buffer, in eighths
		wrap       func(string, flowctl.Scheme) flowctl.Scheme
	}{
		{"half the buffer", "frames dropped", 4, nil},
		{"pauses obeyed but not relayed", "frames dropped", 8, gate("long", func(g flowctl.Gate) flowctl.Gate { return &mute{g} })},
		{"pauses relayed but not obeyed", "frames dropped", 8, func(side string, s flowctl.Scheme) flowctl.Scheme {
			p := must(flowctl.Schemes.Get("swing")).Params().(*flowctl.SwingParams)
			p.Side = "long"
			if side == "long" {
				return s
			}
			return &gateOf{s, must(must(flowctl.Schemes.Get("swing")).New(p))}
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			for i := range 100 {
				h := newHaul(i)
				h.mixed = 1
				h.relays((h.bdp()+64*units.KB)*m.part/8, m.wrap)
				if problem := problems(h.n.Run()); strings.Contains(problem, m.want) {
					t.Logf("caught by case %d: %.200s", i, problem)
					return
				}
			}
			t.Error("not caught")
		})
	}
}

// mute ignores PFC frames.
type mute struct{ flowctl.Gate }

func (m *mute) Control(now units.Time, f *packet.Packet, ext packet.Ext) {}

// gateOf is a scheme with the gates of another scheme.
type gateOf struct {
	flowctl.Scheme
	gates flowctl.Scheme
}

func (g *gateOf) Gate(p flowctl.Port) flowctl.Gate { return g.gates.Gate(p) }
