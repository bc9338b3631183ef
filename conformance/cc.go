package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/mark"
)

// CongestionControl checks a congestion control: rate in (0, line], a window
// that lets something through, Start sets everything anew, two instances agree,
// CNPs and losses speed nothing up, a window that stays between events, the timer
// contract, no allocations, and a rate that falls under persistent congestion
// where promised. One that reads telemetry gets records of three hops, in the
// format that it asks for.
func CongestionControl(t testing.TB, e registry.Entry[cc.New]) {
	t.Helper()
	factory, err := e.New(paramsOf(e))
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	d := &ccDrive{t: t, name: e.Name}
	fresh := d.play(factory(), 1, true)
	if len(fresh) == 0 {
		return
	}
	if !equal(fresh, d.play(factory(), 1, true)) {
		t.Errorf("%s: two instances with the same calls differ", e.Name)
	}
	used := factory()
	d.play(used, 2, true)
	if !equal(fresh, d.play(used, 1, true)) {
		t.Errorf("%s: Start does not set everything anew: a used object differs from a fresh one", e.Name)
	}
	if e.Promises&registry.Reactive != 0 {
		d.falls(factory())
	}
	ccAllocs(t, e, factory())
	network := func(packets int) *Network {
		n := NewNetwork(dumbbell())
		n.Flows, n.Control, n.Until = burst(packets, 0), factory, 400*units.Millisecond
		step := must(mark.Markers.Get("step"))
		n.Marker = func(r units.Rate) (mark.Marker, error) { return step.New(&mark.StepParams{K: 3 * units.KB}, r) }
		return n
	}
	name := e.Name + "/network"
	judge(t, name, same(t, name, network(40)), wants{lossless: true, inOrder: true, finish: true})
	noAllocs(t, e.Name+"/allocations", network)
	gauges(t, cc.Algorithms, e, func(c *scenario.Config, x scenario.Choice) { c.Hosts.CC = x })
}

func ccAllocs(t testing.TB, e registry.Entry[cc.New], c cc.Control) {
	t.Helper()
	c.Start(0, ccFlow())
	now := units.Time(0)
	road := newRoad(c)
	ack := cc.Ack{Bytes: bigPayload, RTT: 10 * units.Microsecond, CE: true}
	if n := testing.AllocsPerRun(200, func() {
		now += units.Microsecond
		ack.Seq++
		ack.Next = ack.Seq + 10
		ack.Flight = 10 * bigPayload
		ack.Telemetry = road.records(now, units.Bytes(ack.Seq)*100)
		c.OnSend(now, 1048)
		c.OnAck(now, &ack)
		c.OnCNP(now)
		c.OnLoss(now, ack.Seq&1 == 0)
		c.Rate(now)
		c.Window(now)
	}); n != 0 {
		t.Errorf("%s: %v allocations per packet", e.Name, n)
	}
}

func ccFlow() *cc.Flow {
	return &cc.Flow{Line: 100 * units.Gbps, MTU: bigPayload + header, MSS: bigPayload, BaseRTT: 10 * units.Microsecond}
}

// road is a path of three hops at the line rate whose middle one is always busy.
type road struct {
	spec  telemetry.Spec
	wants bool
	ext   packet.Ext
}

func newRoad(c cc.Control) *road {
	r := &road{ext: make(packet.Ext, 0, telemetry.MaxWords)}
	if t, ok := c.(cc.Telemetry); ok {
		r.spec, r.wants = t.NeedsTelemetry(), true
	}
	return r
}

// records returns what the hops wrote into a packet that was acknowledged now:
// the middle one has a queue of that length, the others none.
func (r *road) records(now units.Time, queue units.Bytes) packet.Ext {
	if !r.wants {
		return nil
	}
	r.ext = r.ext[:0]
	for hop := range units.Bytes(3) {
		at := now + units.Time(hop)*units.Microsecond
		h := telemetry.Record{Time: at, Rate: 100 * units.Gbps, Bytes: ccFlow().Line.In(at) / 4, Tag: uint32(hop)}
		if hop == 1 {
			h.Bytes, h.Queue = h.Bytes*4, queue
			if r.spec.Counter == telemetry.Queued {
				h.Bytes += queue
			}
		}
		r.ext = r.spec.Format.Append(r.ext, &h)
	}
	return r.ext
}

type ccDrive struct {
	t    testing.TB
	name string
}

// sample is what an algorithm answers at one moment.
type sample struct {
	rate   units.Rate
	window units.Bytes
	timer  units.Time
}

func equal(a, b []sample) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// play sends a random run of events and returns the answers. It is empty after
// a wrong one.
func (d *ccDrive) play(c cc.Control, seed uint64, losses bool) []sample {
	d.t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	f := ccFlow()
	now := units.Time(seed) * units.Microsecond
	c.Start(now, f)
	timed, _ := c.(cc.Timed)
	road := newRoad(c)
	var out []sample
	ack := cc.Ack{}
	known := c.Window(now)
	for range 4000 {
		next := now + units.Time(r.IntN(3_000_000))
		if timed != nil {
			for timed.NextTimer() <= next {
				at := timed.NextTimer()
				if at <= now && len(out) > 0 {
					d.t.Errorf("%s: timer contract: at %s the next timer is %s", d.name, now, at)
					return nil
				}
				now = max(now, at)
				timed.OnTimer(now)
				if timed.NextTimer() <= now {
					d.t.Errorf("%s: timer contract: OnTimer at %s asks for %s", d.name, now, timed.NextTimer())
					return nil
				}
				known = c.Window(now)
			}
		}
		now = next
		rate, window, worse := c.Rate(now), c.Window(now), false
		switch k := r.IntN(20); {
		case k < 8:
			ack.Next++
			c.OnSend(now, 1048)
			window = c.Window(now)
		case k < 16:
			ack.Seq, ack.Bytes, ack.RTT = min(ack.Seq+1, ack.Next), bigPayload, f.BaseRTT+units.Time(r.IntN(5_000_000))
			ack.CE = r.IntN(3) == 0
			ack.Telemetry = road.records(now, units.Bytes(r.IntN(100_000)))
			ack.Flight = units.Bytes(ack.Next-ack.Seq) * bigPayload
			c.OnAck(now, &ack)
		case k < 19:
			c.OnCNP(now)
			worse = true
		case losses:
			c.OnLoss(now, r.IntN(2) == 0)
			worse = true
		}
		if window != known {
			d.t.Errorf("%s: window contract: %d B after the last event, %d B at %s", d.name, known, window, now)
			return nil
		}
		s := sample{rate: c.Rate(now), window: c.Window(now), timer: units.Never}
		if timed != nil {
			s.timer = timed.NextTimer()
		}
		if s.rate <= 0 || s.rate > f.Line {
			d.t.Errorf("%s: rate %s at %s, line rate %s", d.name, s.rate, now, f.Line)
			return nil
		}
		if s.window <= 0 {
			d.t.Errorf("%s: window %d B at %s", d.name, s.window, now)
			return nil
		}
		if worse && (s.rate > rate || s.window > window) {
			d.t.Errorf("%s: speeds up at a CNP or loss: rate %s to %s, window %d B to %d B", d.name, rate, s.rate, window, s.window)
			return nil
		}
		known = s.window
		out = append(out, s)
	}
	return out
}

// falls keeps the congestion on for 5 ms: every ACK echoes a mark, every 10 us
// there is a CNP, and a queue grows at the bottleneck and with it the round-trip
// time. What may be sent in a round trip, by rate or by window, must fall below
// half of what it was.
func (d *ccDrive) falls(c cc.Control) {
	d.t.Helper()
	f := ccFlow()
	c.Start(0, f)
	timed, _ := c.(cc.Timed)
	speed := func(now units.Time) units.Bytes { return min(c.Rate(now).In(f.BaseRTT), c.Window(now)) }
	before := speed(0)
	road := newRoad(c)
	ack := cc.Ack{Bytes: bigPayload, CE: true}
	for now := units.Microsecond; now <= 5*units.Millisecond; now += units.Microsecond {
		for timed != nil && timed.NextTimer() <= now {
			timed.OnTimer(timed.NextTimer())
		}
		queue := f.Line.In(now / 10)
		ack.Seq++
		ack.Next = ack.Seq + 20
		ack.Flight = 20 * bigPayload
		ack.RTT = f.BaseRTT + f.Line.TxTime(queue)
		ack.Telemetry = road.records(now, queue)
		c.OnSend(now, f.MTU)
		c.OnAck(now, &ack)
		if now%(10*units.Microsecond) == 0 {
			c.OnCNP(now)
		}
	}
	if after := speed(5 * units.Millisecond); after > before/2 {
		d.t.Errorf("%s: reactive: 5 ms of congestion take it from %d B to %d B per round trip", d.name, before, after)
	}
}
