package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

func (h *haul) bifrostX(buffer units.Bytes) flowctl.Scheme {
	return must(must(flowctl.Schemes.Get("bifrostx")).New(&flowctl.BifrostXParams{Slot: h.slot, Buffer: flowctl.SlotBuffer{Bytes: buffer}}))
}

// tokenWatch wraps a scheme and checks what its gates send.
type tokenWatch struct {
	flowctl.Scheme
	bad   string
	slots int // in which less than the full rate was granted
}

func (w *tokenWatch) Gate(p flowctl.Port) flowctl.Gate {
	return &watchedTokens{Gate: w.Scheme.Gate(p), port: p, w: w}
}

type watchedTokens struct {
	flowctl.Gate
	port    flowctl.Port
	w       *tokenWatch
	heard   bool
	granted units.Bytes // sum of c_max
	sent    units.Bytes
}

func (g *watchedTokens) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if !g.heard {
		g.heard, g.sent = true, 0
	}
	g.granted += units.Bytes(ext[0])
	if units.Bytes(ext[0]) < g.port.Spec().Rate.In(g.port.Spec().DelayIn)/100 {
		g.w.slots++
	}
	// Unused tokens expire, except for a frame.
	g.granted = min(g.granted, g.sent+units.Bytes(ext[0])+haulMTU)
	g.Gate.Control(now, f, ext)
}

func (g *watchedTokens) May(now units.Time, class uint8, b units.Bytes) bool {
	return g.Gate.(flowctl.Meter).May(now, class, b)
}

// Sent checks that no more is sent than was granted, and nothing before a class of higher priority
// that could send.
func (g *watchedTokens) Sent(now units.Time, class uint8, b units.Bytes) {
	for m := g.port.Spec().Lossless & (1<<class - 1); m != 0 && !g.port.Spec().Host; m &= m - 1 {
		c := m.Lowest()
		if g.port.Waiting(c) >= haulMTU && g.Gate.(flowctl.Meter).May(now, c, haulMTU) && g.w.bad == "" {
			g.w.bad = fmt.Sprintf("at %s class %d is sent while class %d could send", now, class, c)
		}
	}
	g.Gate.(flowctl.Meter).Sent(now, class, b)
	if g.sent += b; g.heard && g.sent > g.granted && g.w.bad == "" {
		g.w.bad = fmt.Sprintf("at %s %d B were sent, %d granted", now, g.sent, g.granted)
	}
}

// BifrostX drops nothing with 1, 3 and 7 classes, sends only what was granted, and no class waits for
// one of lower priority. It can lose throughput: c_i limits a queue that grew, even when no other
// class can send instead.
func TestBifrostXKeepsItsPromise(t *testing.T) { checkBifrostXPromise(t, trials.First(40)) }

func checkBifrostXPromise(t *testing.T, which []int) {
	t.Helper()
	limited, worst := 0, units.Time(0)
	for _, i := range which {
		h := newHaul(i).classes([]int{1, 3, 7}[i%3])
		free := h.run(h.bifrostX(plenty))
		watch := &tokenWatch{Scheme: h.bifrostX(h.steady())}
		r := h.run(watch)
		if problem := problems(r); problem != "" || watch.bad != "" {
			t.Errorf("case %d: %s %s (%s, %s, slots of %s, drain %v)", i, problem, watch.bad, h.rate, h.delay, h.slot, h.drain)
			continue
		}
		worst = max(worst, lateness(r, free))
		if watch.slots > 3 {
			limited++
		}
	}
	t.Logf("of %d cases %d are limited by grants; the drain is idle for at most %s", len(which), limited, worst)
	if limited < len(which)/2 {
		t.Error("the cases do not cover enough")
	}
}

// The property must detect these mistakes in BifrostX.
func TestBifrostXMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name, want string
		change     func(flowctl.Scheme) flowctl.Scheme
	}{
		{"half the round trip", "frames dropped", func(s flowctl.Scheme) flowctl.Scheme {
			return &slotMutant{s, func(s flowctl.Scheme, p flowctl.Port) flowctl.Receiver {
				short := *p.Spec()
				short.DelayIn /= 2
				short.DelayOut /= 2
				return s.Receiver(otherSpec{p, &short})
			}}
		}},
		{"tokens that accumulate", "were sent", func(s flowctl.Scheme) flowctl.Scheme {
			return &gateMutant{s, func(g flowctl.Gate) flowctl.Gate { return &hoarding{Gate: g} }}
		}},
		{"meter that counts half of each frame", "were sent", func(s flowctl.Scheme) flowctl.Scheme {
			return &gateMutant{s, func(g flowctl.Gate) flowctl.Gate { return lenient{g} }}
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			for i := range 100 {
				h := newHaul(i).classes(3)
				watch := &tokenWatch{Scheme: m.change(h.bifrostX(h.steady()))}
				if problem := problems(h.run(watch)) + watch.bad; strings.Contains(problem, m.want) {
					t.Logf("caught by case %d: %.200s", i, problem)
					return
				}
			}
			t.Error("not caught")
		})
	}
}

type gateMutant struct {
	flowctl.Scheme
	wrap func(flowctl.Gate) flowctl.Gate
}

func (m *gateMutant) Gate(p flowctl.Port) flowctl.Gate { return m.wrap(m.Scheme.Gate(p)) }

// hoarding adds three times the granted tokens.
type hoarding struct{ flowctl.Gate }

func (g *hoarding) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if len(ext) > 0 {
		ext[0] += 2 * ext[0]
	}
	g.Gate.Control(now, f, ext)
}

func (g *hoarding) May(now units.Time, class uint8, b units.Bytes) bool {
	return g.Gate.(flowctl.Meter).May(now, class, b)
}

func (g *hoarding) Sent(now units.Time, class uint8, b units.Bytes) {
	g.Gate.(flowctl.Meter).Sent(now, class, b)
}

// lenient asks for and counts half of each frame.
type lenient struct{ flowctl.Gate }

func (g lenient) May(now units.Time, class uint8, b units.Bytes) bool {
	return g.Gate.(flowctl.Meter).May(now, class, b/2)
}

func (g lenient) Sent(now units.Time, class uint8, b units.Bytes) {
	g.Gate.(flowctl.Meter).Sent(now, class, b/2)
}
