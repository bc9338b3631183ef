package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// credits draws a CBFC scheme for a case: form, field, buffer and period.
func (h *haul) credits() flowctl.Scheme {
	e := must(flowctl.Schemes.Get("cbfc"))
	p := e.Params().(*flowctl.CBFCParams)
	p.Form = []string{"ib", "uec"}[h.IntN(2)]
	p.Period = h.slot + units.Time(h.IntN(20))*units.Microsecond
	p.Buffer = []units.Bytes{h.steady(), h.steady() / 3, 10 * haulMTU, 0}[h.IntN(4)]
	if p.Form == "ib" && h.rate.In(2*h.delay)+4*haulMTU < 131_072 {
		p.Field = []string{"ideal", "12bit"}[h.IntN(2)]
	}
	return must(e.New(p))
}

// creditWatch checks one direction of a link: bytes on the wire plus stored bytes never exceed the
// buffer, and all credit is returned in the end.
type creditWatch struct {
	lane                  units.Bytes
	sent, arrived, stored [mmu.Classes]int64 // blocks
	gate                  flowctl.Gate
	starved               int // number of refusals by the gate
	updates               int
	skip                  int // lose one of this many updates; 0: none
	bad                   string
}

// creditEnd is a scheme at one end of a link.
type creditEnd struct {
	flowctl.Scheme
	out, in *creditWatch
}

func (e *creditEnd) Receiver(p flowctl.Port) flowctl.Receiver {
	e.in.lane = e.Reserve(p.Spec()) / p.Spec().Queues()
	return &countedReceiver{e.Scheme.Receiver(p), e.in}
}

func (e *creditEnd) Gate(p flowctl.Port) flowctl.Gate {
	e.out.gate = e.Scheme.Gate(p)
	return &countedGate{e.out.gate, e.out}
}

func creditBlocks(b units.Bytes) int64 { return int64(b+63) / 64 }

func (w *creditWatch) check(now units.Time, class uint8) {
	if all := w.sent[class] - w.arrived[class] + w.stored[class]; units.Bytes(all)*64 > w.lane && w.bad == "" {
		w.bad = fmt.Sprintf("credits: at %s class %d has %d blocks on the wire and %d stored, in a buffer of %d B", now, class, w.sent[class]-w.arrived[class], w.stored[class], w.lane)
	}
}

type countedReceiver struct {
	flowctl.Receiver
	w *creditWatch
}

func (r *countedReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	r.Receiver.Charged(now, a, s)
	r.w.arrived[a.Class] += creditBlocks(a.Bytes)
	r.w.stored[a.Class] += creditBlocks(a.Bytes)
	r.w.check(now, a.Class)
}

func (r *countedReceiver) Released(now units.Time, a *mmu.Arrival) {
	r.Receiver.Released(now, a)
	r.w.stored[a.Class] -= creditBlocks(a.Bytes)
}

type countedGate struct {
	flowctl.Gate
	w *creditWatch
}

func (g *countedGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if g.w.updates++; g.w.skip > 0 && g.w.updates%g.w.skip == 0 {
		return
	}
	g.Gate.Control(now, f, ext)
}

func (g *countedGate) May(now units.Time, class uint8, b units.Bytes) bool {
	ok := g.Gate.(flowctl.Meter).May(now, class, b)
	if !ok {
		g.w.starved++
	}
	return ok
}

func (g *countedGate) Sent(now units.Time, class uint8, b units.Bytes) {
	g.Gate.(flowctl.Meter).Sent(now, class, b)
	g.w.sent[class] += creditBlocks(b)
	g.w.check(now, class)
}

// runCredits runs a case with credits on the long link and returns its problems.
func (h *haul) runCredits(near, far flowctl.Scheme, skip int) (forth *creditWatch, problem string) {
	forth = &creditWatch{skip: skip}
	back := &creditWatch{skip: skip}
	ends := map[int]flowctl.Scheme{4: &creditEnd{near, forth, back}, 5: &creditEnd{far, back, forth}}
	pfc := NewNetwork(h.n.Graph).Flow(0, 0)
	h.n.Linger = max(h.n.Linger, 200*units.Microsecond+2*h.delay)
	h.n.Flow = func(node, port int) flowctl.Scheme {
		if onTrunk(h.n.Graph, node, port) {
			return ends[node]
		}
		return pfc
	}
	problem = problems(h.n.Run()) + forth.bad + back.bad
	values := make([]float64, 1)
	for c := uint8(1); problem == "" && c <= uint8(max(1, h.mixed)); c++ {
		forth.gate.(probe.Gauged).Measure(0, 0, c, values)
		if all := min(float64(forth.lane/64), []float64{1 << 62, 2048}[boolToInt(h.twelveBit(near))]); values[0] != all {
			problem = fmt.Sprintf("credits: at the end class %d has %.0f of %.0f credits", c, values[0], all)
		}
	}
	return forth, problem
}

func (h *haul) twelveBit(s flowctl.Scheme) bool {
	return strings.HasSuffix(string(s.Properties().Dialect), "InfiniBand")
}

func boolToInt(on bool) int {
	if on {
		return 1
	}
	return 0
}

// Credits are conserved, nothing is dropped and all flows finish, however the drain stops and
// resumes, even if every fifth update is lost.
func TestCBFCKeepsItsPromise(t *testing.T) { checkCBFCPromise(t, trials.First(40)) }

func checkCBFCPromise(t *testing.T, which []int) {
	t.Helper()
	starved, twelveBit := 0, 0
	for _, i := range which {
		h := newHaul(i).classes([]int{1, 3, 7}[i%3])
		h.n.Until = units.Second // few credits on a long cable are slow
		s := h.credits()
		watch, problem := h.runCredits(s, s, []int{0, 5}[i%2])
		if problem != "" {
			t.Errorf("case %d: %s (%s, %s, %s)", i, problem, h.rate, h.delay, s.Properties().Dialect)
		}
		if watch.starved > 0 {
			starved++
		}
		twelveBit += boolToInt(h.twelveBit(s))
	}
	t.Logf("of %d cases %d run out of credits, %d have 12-bit fields", len(which), starved, twelveBit)
	if starved < len(which)/2 || twelveBit < len(which)/10 {
		t.Error("the cases do not cover enough")
	}
}

// The property must detect these mistakes in credits.
func TestCBFCMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name, want string
		near, far  func(flowctl.Scheme) flowctl.Scheme
	}{
		{"sender counts half of each frame", "credits:", func(s flowctl.Scheme) flowctl.Scheme {
			return &gateMutant{s, func(g flowctl.Gate) flowctl.Gate { return lenient{g} }}
		}, nil},
		{"receiver grants too much", "credits:", nil, func(s flowctl.Scheme) flowctl.Scheme {
			return &slotMutant{s, func(s flowctl.Scheme, p flowctl.Port) flowctl.Receiver { return &generous{s.Receiver(p)} }}
		}},
		{"receiver never returns credit", "did not finish", nil, func(s flowctl.Scheme) flowctl.Scheme {
			return &slotMutant{s, func(s flowctl.Scheme, p flowctl.Port) flowctl.Receiver { return deaf{s.Receiver(p)} }}
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			for i := range 50 {
				h := newHaul(i).classes(3)
				h.n.Until = 20 * units.Millisecond
				s := h.credits()
				near, far := s, s
				if m.near != nil {
					near = m.near(s)
				} else {
					far = m.far(s)
				}
				if _, problem := h.runCredits(near, far, 0); strings.Contains(problem, m.want) {
					t.Logf("caught by case %d: %.200s", i, problem)
					return
				}
			}
			t.Error("not caught")
		})
	}
}

// generous grants 50 blocks too many.
type generous struct{ flowctl.Receiver }

func (g *generous) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	ext, ok := g.Receiver.Frame(now, f, ext)
	if ok {
		ext[0] += 50
	}
	return ext, ok
}
