package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
)

// haul is a test case with one long link between two switches. Two hosts send more than the link
// carries, so its upstream always has frames. One host receives, and is stuck at times. Another
// host sends in the opposite direction, so that control frames wait for frames in progress.
type haul struct {
	*rand.Rand
	rate  units.Rate
	delay units.Time
	slot  units.Time
	small bool // frames of 64 B in addition to full ones
	mixed int  // number of classes; 0: one
	relay bool // relays between the switches and the long link
	drain []units.Interval
	n     *Network
}

// Nodes and links of a haul.
const (
	haulReceiver = 2
	haulReverse  = 3
	haulMTU      = bigPayload + header
)

func (h *haul) graph() *topo.Graph {
	g := &topo.Graph{Hosts: 4, Rack: []int{0, 0, 1, 1}, Names: []string{"host0", "host1", "host2", "host3", "near", "far"}}
	for i, rate := range []units.Rate{h.rate, h.rate, h.rate, h.rate} {
		g.Links = append(g.Links, topo.Link{A: i, B: 4 + i/2, PortB: i % 2, Rate: rate, Delay: units.Microsecond})
	}
	if !h.relay {
		g.Links = append(g.Links, topo.Link{A: 4, PortA: 2, B: 5, PortB: 2, Rate: h.rate, Delay: h.delay})
		return g
	}
	g.Names = append(g.Names, "relay0", "relay1")
	g.Links = append(g.Links,
		topo.Link{A: 4, PortA: 2, B: 6, Rate: h.rate, Delay: units.Microsecond}, topo.Link{A: 5, PortA: 2, B: 7, Rate: h.rate, Delay: units.Microsecond},
		topo.Link{A: 6, PortA: 1, B: 7, PortB: 1, Rate: h.rate, Delay: h.delay})
	return g
}

// newHaul draws a link, its slots and a drain: stops of all lengths from a frame to four round
// trips, alone or in series. In every other case the round trip is a whole number of slots.
func newHaul(index int) *haul {
	h := &haul{Rand: rand.New(rand.NewPCG(20230415, uint64(index)))}
	h.rate = []units.Rate{10 * units.Gbps, 25 * units.Gbps, 25 * units.Gbps, 40 * units.Gbps}[h.IntN(4)]
	least := h.rate.TxTime(2 * haulMTU)
	h.slot = max(least, 1500*units.Nanosecond) + units.Time(h.IntN(4000))*units.Nanosecond
	slots := 3 + h.IntN(18) // slots per round trip
	h.delay = units.Time(slots) * h.slot / 2
	if index%2 == 1 {
		h.delay += units.Time(h.Int64N(int64(h.slot / 2)))
	}
	h.delay = max(h.delay, h.slot+1)
	h.small = h.IntN(4) == 0
	at := 2*h.delay + units.Time(h.Int64N(int64(4*h.delay)))
	for range 1 + h.IntN(8) {
		stop := []units.Time{units.Time(h.Int64N(int64(h.slot))), units.Time(h.Int64N(int64(2 * h.delay))), units.Time(h.Int64N(int64(8 * h.delay)))}[h.IntN(3)]
		h.drain = append(h.drain, units.Interval{From: at, To: at + stop + 1})
		at += stop + 1 + []units.Time{h.slot, 2 * h.delay, 6 * h.delay}[h.IntN(3)]*units.Time(1+h.IntN(3))/2
	}
	h.build(at + 4*h.delay)
	return h
}

// classes gives a case n lossless classes, served by strict priority.
func (h *haul) classes(n int) *haul {
	h.mixed = n
	last := h.drain[len(h.drain)-1]
	h.build(last.To + 6*h.delay)
	return h
}

// build adds flows that last for a time, plus the stops.
func (h *haul) build(length units.Time) {
	n := NewNetwork(h.graph())
	n.Until, n.Timeout, n.Linger, n.AckEvery = 100*units.Millisecond, 50*units.Millisecond, 4*h.delay, 64
	packets := int(h.rate.In(length)/haulMTU) + 100
	add := func(start units.Time, src, dst int, class, transport uint8, packets int) {
		size := units.Bytes(packets) * bigPayload
		if transport == 1 {
			size = units.Bytes(packets) * smallPayload
		}
		n.Flows = append(n.Flows, dataplane.Flow{Start: start, Size: size, Src: uint32(src), Dst: uint32(dst), Class: class, Transport: transport, Hash: h.Uint32()})
	}
	classes := max(1, h.mixed)
	for c := range classes {
		add(0, 0, haulReceiver, uint8(1+c), 0, packets/2/classes)
		add(0, 1, haulReceiver, uint8(1+c), 0, packets/2/classes)
		if h.small {
			add(0, 0, haulReceiver, uint8(1+c), 1, packets/2/classes)
		}
	}
	reverse := uint8(7)
	if h.mixed > 0 {
		reverse = uint8(h.mixed)
		for c := h.mixed + 1; c < mmu.Classes; c++ {
			n.Kinds[c] = mmu.Unused
		}
		strict := must(sched.Schedulers.Get("strict"))
		n.Scheduler = func() (sched.Scheduler, error) { return strict.New(nil, SchedulerEnv()) }
	}
	add(units.Time(h.IntN(2000))*units.Nanosecond, haulReverse, 0, reverse, 0, packets/2)
	n.Receive = func(node int) dataplane.ReceiveSpec {
		if node != haulReceiver {
			return dataplane.ReceiveSpec{}
		}
		return dataplane.ReceiveSpec{Stuck: h.drain}
	}
	h.n = n
}

// steady returns H = DELTA + 2 R_s T, with the round trip in whole slots.
func (h *haul) steady() units.Bytes {
	slots := (2*h.delay + h.slot - 1) / h.slot
	return (units.Bytes(slots)+2)*h.rate.In(h.slot) + 64 + 2*haulMTU + units.Bytes(slots)
}

func (h *haul) bifrost(form string, buffer units.Bytes) flowctl.Scheme {
	return must(must(flowctl.Schemes.Get("bifrost")).New(&flowctl.BifrostParams{Form: form, Slot: h.slot, Buffer: flowctl.SlotBuffer{Bytes: buffer}}))
}

// plenty is a buffer that never fills.
const plenty = 200 * units.MB

// run runs the case with a scheme on the long link.
func (h *haul) run(s flowctl.Scheme) *Result {
	pfc := NewNetwork(h.n.Graph).Flow(0, 0)
	h.n.Flow = func(node, port int) flowctl.Scheme {
		if onTrunk(h.n.Graph, node, port) {
			return s
		}
		return pfc
	}
	return h.n.Run()
}

// slack returns the throughput that may be lost: four frames at the egress, ACKs of the opposite
// direction, and 128 B per grant of a round trip, because grants are not whole frames. With small
// frames each grant may waste up to a full frame.
func (h *haul) slack() units.Time {
	acks := h.n.Flows[len(h.n.Flows)-1].Size / bigPayload / 64
	slots, waste := units.Bytes(2*h.delay/h.slot)+2, units.Bytes(128)
	if h.small {
		waste = haulMTU
	}
	return h.rate.TxTime(4*haulMTU + 64*(acks+1) + slots*waste)
}

// lateness returns how much later the last frame reaches the receiver in run a than in run b. There
// is one egress, always busy except for the stops, so idle time is never made up: this is the lost
// throughput.
func lateness(a, b *Result) units.Time {
	last := func(r *Result) units.Time {
		at := units.Time(0)
		for i := range r.Flows.Flow {
			if r.Flows.Flow[i].Dst == haulReceiver {
				at = max(at, r.Flows.Recv[i].Delivered)
			}
		}
		return at
	}
	return last(a) - last(b)
}

// problems returns the problems of a run, or "".
func problems(r *Result) string {
	log := &errorLog{TB: nil}
	judge(log, "haul", r, requirements{lossless: true, inOrder: true, finish: true})
	return strings.Join(log.errors, "\n")
}

// slotWatch wraps a Bifrost receiver and compares what each slot allows to arrive with what does.
type slotWatch struct {
	flowctl.Scheme
	bad   string
	slots int
	full  int // slots in which H was at least 90 % full
	most  units.Bytes
}

func (w *slotWatch) Receiver(p flowctl.Port) flowctl.Receiver {
	if p.Spec().Host {
		return w.Scheme.Receiver(p)
	}
	return &watchedSlots{Receiver: w.Scheme.Receiver(p), w: w, spec: p.Spec(), view: p.View()}
}

type watchedSlots struct {
	flowctl.Receiver
	w         *slotWatch
	spec      *link.Port
	view      mmu.View
	arrivals  []arrival // arrivals of the last round trip
	forecasts []forecast
}

type arrival struct {
	at    units.Time
	bytes units.Bytes // total bytes so far
}

type forecast struct {
	at      units.Time
	virtual units.Bytes
	before  units.Bytes
}

func (r *watchedSlots) total() units.Bytes {
	if len(r.arrivals) == 0 {
		return 0
	}
	return r.arrivals[len(r.arrivals)-1].bytes
}

func (r *watchedSlots) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	r.Receiver.Charged(now, a, s)
	r.w.most = max(r.w.most, r.view.PortIn(a.In, mmu.Headroom))
	r.arrivals = append(r.arrivals, arrival{now, r.total() + a.Bytes})
	// Bytes that arrive within a round trip and a slot of a forecast must have been in F, except
	// for a frame in progress and a late control frame, once each.
	for len(r.forecasts) > 0 && r.forecasts[0].at+r.spec.RoundTrip() < now {
		r.forecasts = r.forecasts[1:]
	}
	if len(r.forecasts) > 0 {
		if s := r.forecasts[0]; r.total()-s.before > s.virtual+4*haulMTU && r.w.bad == "" {
			r.w.bad = fmt.Sprintf("F: at %s it was %d B, by %s %d B had arrived", s.at, s.virtual, now, r.total()-s.before)
		}
	}
}

func (r *watchedSlots) Wake(now units.Time, timer int) {
	r.Receiver.Wake(now, timer)
	values := make([]float64, 4)
	r.Receiver.(probe.Gauged).Measure(now, 0, 1, values)
	stored, virtual, limit := units.Bytes(values[0]), units.Bytes(values[1]), units.Bytes(values[3])
	r.forecasts = append(r.forecasts, forecast{now, virtual, r.total()})
	r.w.slots++
	if stored >= limit*9/10 {
		r.w.full++
	}
	// Theorem 1: bytes in excess are paid back before anything is granted again.
	if units.Bytes(values[2]) > 0 && stored+virtual > limit+units.Bytes(values[2]) && r.w.bad == "" {
		r.w.bad = fmt.Sprintf("theorem 1: at %s L %d and F %d exceed H %d", now, stored, virtual, limit)
	}
}

// With H = DELTA + 2 R_s T the link drops nothing and loses no throughput, however the drain stops
// and resumes (Bifrost section IV-C).
func TestBifrostKeepsItsPromise(t *testing.T) { checkBifrostPromise(t, trials.First(40)) }

func checkBifrostPromise(t *testing.T, which []int) {
	t.Helper()
	var paused, full, whole, small int
	worst, over := units.Time(0), units.Bytes(0)
	for _, i := range which {
		h := newHaul(i)
		free := h.run(h.bifrost("window", plenty))
		watch := &slotWatch{Scheme: h.bifrost("window", h.steady())}
		r := h.run(watch)
		if problem := problems(r); problem != "" || watch.bad != "" {
			t.Errorf("case %d: %s %s (%s, %s, slots of %s, drain %v)", i, problem, watch.bad, h.rate, h.delay, h.slot, h.drain)
			continue
		}
		lost := lateness(r, free)
		worst, over = max(worst, lost-h.slack()), max(over, watch.most-h.steady())
		if lost > h.slack() {
			t.Errorf("case %d: %s of throughput lost (%s, %s, slots of %s, drain %v)", i, lost, h.rate, h.delay, h.slot, h.drain)
		}
		for _, k := range []struct {
			seen bool
			n    *int
		}{{r.Totals.Controls[0].Frames > 20, &paused}, {watch.full > 0, &full}, {2*h.delay%h.slot == 0, &whole}, {h.small, &small}} {
			if k.seen {
				*k.n++
			}
		}
	}
	cases := len(which)
	t.Logf("of %d cases: %d pause, %d fill H, %d have round trips of whole slots, %d have small frames; at most %s beyond the slack, %d B above H", cases, paused, full, whole, small, worst, over)
	if paused < cases/2 || full < cases/5 || whole < cases/4 || small < cases/8 {
		t.Error("the cases do not cover enough")
	}
}

// steadyHaul returns a link of 25 Gbps, 20 us each way, with slots of 4 us (12,500 B), for 2 ms and
// with the given drain.
func steadyHaul(drain ...units.Interval) *haul {
	h := &haul{Rand: rand.New(rand.NewPCG(1, 1)), rate: 25 * units.Gbps, delay: 20 * units.Microsecond, slot: 4 * units.Microsecond, drain: drain}
	h.build(2 * units.Millisecond)
	return h
}

// The round trip is 10 slots, so N is 11, and line rate needs 12 slots of grants. With room for 11,
// a twelfth of the line rate is lost: 167 us of 2 ms.
func TestBifrostNeedsTwoSlots(t *testing.T) {
	h := steadyHaul()
	free := h.run(h.bifrost("window", plenty))
	if lost := lateness(h.run(h.bifrost("window", h.steady())), free); lost > h.slack() {
		t.Errorf("with DELTA + 2 R_s T, %s of throughput are lost", lost)
	}
	lost := lateness(h.run(h.bifrost("window", h.steady()-h.rate.In(h.slot))), free)
	if lost < 100*units.Microsecond {
		t.Errorf("with DELTA + R_s T, only %s of 2 ms are lost", lost)
	}
}

// PFC needs a bandwidth-delay product below the threshold and one above it. With less below,
// throughput is lost; with less above, frames are dropped.
func TestPFCNeedsTwoBDP(t *testing.T) {
	stop := units.Interval{From: 500 * units.Microsecond, To: 800 * units.Microsecond}
	h := steadyHaul(stop)
	free := h.run(h.bifrost("window", plenty))
	bdp := h.rate.In(2*h.delay) + 64 + 3*haulMTU
	static := must(buffer.Policies.Get("static"))
	run := func(limit, headroom units.Bytes) *Result {
		h.n.Shared = 10 * units.MB
		h.n.Policy = func(node int, e buffer.Env) (buffer.Policy, error) {
			return static.New(&buffer.StaticParams{Limit: limit}, e)
		}
		return h.run(must(must(flowctl.Schemes.Get("pfc")).New(&flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: headroom}})))
	}
	if r := run(bdp, bdp); problems(r) != "" || lateness(r, free) > h.slack() {
		t.Errorf("with 2 BDP: %s late, %s", lateness(r, free), problems(r))
	}
	if r := run(bdp/2, bdp); problems(r) != "" || lateness(r, free) < 10*units.Microsecond {
		t.Errorf("with half a BDP below the threshold only %s are lost; %s", lateness(r, free), problems(r))
	}
	if r := run(bdp, bdp/2); !strings.Contains(problems(r), "frames dropped") {
		t.Error("with half a BDP of headroom nothing is dropped")
	}
}

// halfOpen returns a drain that alternates between 3 us open and 3 us stopped, so that every slot is
// granted in part, and then stops for 1 ms.
func halfOpen() *haul {
	var drain []units.Interval
	for at := 100 * units.Microsecond; at < 900*units.Microsecond; at += 6 * units.Microsecond {
		drain = append(drain, units.Interval{From: at, To: at + 3*units.Microsecond})
	}
	return steadyHaul(append(drain, units.Interval{From: 901 * units.Microsecond, To: 1900 * units.Microsecond})...)
}

// H is 12 slots of 12,500 B and 2170 B. In the form printed in the paper, every partly granted slot
// lets up to a frame pass that F does not count. When the drain stops, 194 frames of 1048 B arrive
// without room, and 66 if F is kept from falling below zero.
func TestBifrostPrintedOverflows(t *testing.T) {
	for _, c := range []struct {
		form string
		lost uint64
	}{{"window", 0}, {"clamped", 66}, {"printed", 194}} {
		h := halfOpen()
		r := h.run(h.bifrost(c.form, h.steady()))
		got := r.Totals.Drops[probe.Lossless]
		if got != c.lost {
			t.Errorf("%s: %d frames dropped, want %d", c.form, got, c.lost)
		}
		t.Logf("%s: %d frames dropped", c.form, got)
	}
}

// The property must detect these mistakes in Bifrost.
func TestBifrostMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name, want string
		receiver   func(flowctl.Scheme, flowctl.Port) flowctl.Receiver
	}{
		{"half the round trip", "frames dropped", func(s flowctl.Scheme, p flowctl.Port) flowctl.Receiver {
			short := *p.Spec()
			short.DelayIn /= 2
			short.DelayOut /= 2
			return s.Receiver(otherSpec{p, &short})
		}},
		{"feedback in two of three slots only", "frames dropped", func(s flowctl.Scheme, p flowctl.Port) flowctl.Receiver {
			return &skipping{Receiver: s.Receiver(p)}
		}},
		{"pause that is never resumed", "still blocks", func(s flowctl.Scheme, p flowctl.Port) flowctl.Receiver {
			return &unforgiving{s.Receiver(p)}
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			for i := range 100 {
				h := newHaul(i)
				s := h.bifrost("window", h.steady())
				problem := problems(h.run(&slotMutant{s, m.receiver}))
				if strings.Contains(problem, m.want) {
					t.Logf("caught by case %d: %.200s", i, problem)
					return
				}
			}
			t.Error("not caught")
		})
	}
}

type slotMutant struct {
	flowctl.Scheme
	receiver func(flowctl.Scheme, flowctl.Port) flowctl.Receiver
}

func (m *slotMutant) Receiver(p flowctl.Port) flowctl.Receiver { return m.receiver(m.Scheme, p) }

// otherSpec is a port with a wrong spec.
type otherSpec struct {
	flowctl.Port
	spec *link.Port
}

func (o otherSpec) Spec() *link.Port { return o.spec }

// skipping suppresses every third control frame.
type skipping struct {
	flowctl.Receiver
	n int
}

func (s *skipping) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	ext, ok := s.Receiver.Frame(now, f, ext)
	if ok {
		s.n++
	}
	return ext, ok && s.n%3 != 0
}

// unforgiving replaces each RESUME by a pause of one quantum.
type unforgiving struct{ flowctl.Receiver }

func (u *unforgiving) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	ext, ok := u.Receiver.Frame(now, f, ext)
	if enable, pause, _ := f.PFC(); ok && pause == 0 {
		f.SetPFC(enable, enable, 1)
	}
	return ext, ok
}
