package conformance

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/deep"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// relays puts relays before the long link of a case. Buffer is that of their long side;
// wrap may change the schemes of a side.
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

// bdp is what is on the long link in a round trip.
func (h *haul) bdp() units.Bytes { return h.rate.In(2*h.delay) + 64 + 2*haulMTU }

// The far relay never overflows with a bandwidth-delay product and 1 MiB, and all arrives.
func TestSwingKeepsItsPromise(t *testing.T) { swingKeeps(t, deep.All(40)) }

func swingKeeps(t *testing.T, which []int) {
	t.Helper()
	filled, most := 0, units.Bytes(0)
	for _, i := range which {
		h := newHaul(i)
		h.mixed = []int{1, 3, 7}[i%3]
		h.relays(0, nil)
		r := h.n.Run()
		if said := wrong(r); said != "" {
			t.Errorf("case %d: %s (%s, %s, drain %v)", i, said, h.rate, h.delay, h.drain)
			continue
		}
		peak := r.Views[3].Peak(mmu.Headroom) // of relay1, all classes
		if h.mixed == 1 {
			most = max(most, peak-h.bdp())
		}
		if peak > h.bdp()/2 {
			filled++
		}
	}
	t.Logf("of %d cases %d fill half of a bandwidth-delay product; with one class at most %d B beyond it", len(which), filled, most)
	if filled < len(which)/4 {
		t.Error("the cases are too tame")
	}
}

// Ways to run relays that the property must find wanting, with 64 KB instead of 1 MiB.
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
		name, about string
		part        units.Bytes // of the buffer, in eighths
		wrap        func(string, flowctl.Scheme) flowctl.Scheme
	}{
		{"a buffer of half a bandwidth-delay product", "frames dropped", 4, nil},
		{"pauses that are obeyed and not passed on", "frames dropped", 8, gate("long", func(g flowctl.Gate) flowctl.Gate { return &mute{g} })},
		{"pauses that are passed on and not obeyed", "frames dropped", 8, func(side string, s flowctl.Scheme) flowctl.Scheme {
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
				if said := wrong(h.n.Run()); strings.Contains(said, m.about) {
					t.Logf("caught by case %d: %.200s", i, said)
					return
				}
			}
			t.Error("not caught")
		})
	}
}

// mute hears no PFC frames.
type mute struct{ flowctl.Gate }

func (m *mute) Control(now units.Time, f *packet.Packet, ext packet.Ext) {}

// gateOf is a scheme with the gates of another.
type gateOf struct {
	flowctl.Scheme
	gates flowctl.Scheme
}

func (g *gateOf) Gate(p flowctl.Port) flowctl.Gate { return g.gates.Gate(p) }
