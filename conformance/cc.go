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

// CongestionControl checks a congestion control algorithm. The rate must be above 0 and at most the
// line rate, and the window above 0. Start must reset all state, and two instances must behave
// identically. CNPs and losses must not increase the rate or the window, and the window must not
// change between events. Timers must be in the future, and calls must not allocate. With the promise
// registry.Reactive, the rate or window must fall under persistent congestion. An algorithm that
// reads telemetry gets records of three hops.
func CongestionControl(t testing.TB, e registry.Entry[cc.New]) {
	t.Helper()
	factory, err := e.New(paramsOf(e))
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	d := &ccDriver{t: t, name: e.Name}
	fresh := d.drive(factory(), 1, true)
	if len(fresh) == 0 {
		return
	}
	if !equal(fresh, d.drive(factory(), 1, true)) {
		t.Errorf("%s: two instances with the same calls differ", e.Name)
	}
	used := factory()
	d.drive(used, 2, true)
	if !equal(fresh, d.drive(used, 1, true)) {
		t.Errorf("%s: Start does not reset all state: a used instance differs from a new one", e.Name)
	}
	if e.Promises&registry.Reactive != 0 {
		d.checkReactive(factory())
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
	judge(t, name, runTwice(t, name, network(40)), requirements{lossless: true, inOrder: true, finish: true})
	noAllocs(t, e.Name+"/allocations", network)
	checkGauges(t, cc.Algorithms, e, func(c *scenario.Config, x scenario.Choice) { c.Hosts.CC = x })
}

// ccAllocs checks that the calls for a packet do not allocate.
func ccAllocs(t testing.TB, e registry.Entry[cc.New], c cc.Control) {
	t.Helper()
	c.Start(0, ccFlow())
	now := units.Time(0)
	path := newPath(c)
	ack := cc.Ack{Bytes: bigPayload, RTT: 10 * units.Microsecond, CE: true}
	if n := testing.AllocsPerRun(200, func() {
		now += units.Microsecond
		ack.Seq++
		ack.Next = ack.Seq + 10
		ack.Flight = 10 * bigPayload
		ack.Telemetry = path.records(now, units.Bytes(ack.Seq)*100)
		c.OnSend(now, 1048)
		c.OnAck(now, &ack)
		c.OnCNP(now)
		c.OnLoss(now, ack.Seq&1 == 0)
		c.Rate(now)
		c.Window(now)
	}); n != 0 {
		t.Errorf("%s: %v allocations per packet (expected none)", e.Name, n)
	}
}

func ccFlow() *cc.Flow {
	return &cc.Flow{Line: 100 * units.Gbps, MTU: bigPayload + header, MSS: bigPayload, BaseRTT: 10 * units.Microsecond}
}

// path is a path of three hops at line rate whose middle hop is always busy.
type path struct {
	spec  telemetry.Spec
	wants bool
	ext   packet.Ext
}

func newPath(c cc.Control) *path {
	r := &path{ext: make(packet.Ext, 0, telemetry.MaxWords)}
	if t, ok := c.(cc.Telemetry); ok {
		r.spec, r.wants = t.NeedsTelemetry(), true
	}
	return r
}

// records returns the telemetry of a packet that is acknowledged now. The middle hop has a queue of
// the given length, the others none.
func (r *path) records(now units.Time, queue units.Bytes) packet.Ext {
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

// ccDriver calls an algorithm and reports its violations to t.
type ccDriver struct {
	t    testing.TB
	name string
}

// sample is the state of an algorithm at one moment.
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

// drive calls an algorithm with random events and returns a sample after each. It returns nil after
// a violation.
func (d *ccDriver) drive(c cc.Control, seed uint64, losses bool) []sample {
	d.t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	f := ccFlow()
	now := units.Time(seed) * units.Microsecond
	c.Start(now, f)
	timed, _ := c.(cc.Timed)
	path := newPath(c)
	var out []sample
	ack := cc.Ack{}
	known := c.Window(now)
	for range 4000 {
		next := now + units.Time(r.IntN(3_000_000))
		if timed != nil {
			for timed.NextTimer() <= next {
				at := timed.NextTimer()
				if at <= now && len(out) > 0 {
					d.t.Errorf("%s: timer contract: at %s the next timer is %s (expected later)", d.name, now, at)
					return nil
				}
				now = max(now, at)
				timed.OnTimer(now)
				if timed.NextTimer() <= now {
					d.t.Errorf("%s: timer contract: after OnTimer at %s the next timer is %s (expected later)", d.name, now, timed.NextTimer())
					return nil
				}
				known = c.Window(now)
			}
		}
		now = next
		rate, window, congested := c.Rate(now), c.Window(now), false
		switch k := r.IntN(20); {
		case k < 8:
			ack.Next++
			c.OnSend(now, 1048)
			window = c.Window(now)
		case k < 16:
			ack.Seq, ack.Bytes, ack.RTT = min(ack.Seq+1, ack.Next), bigPayload, f.BaseRTT+units.Time(r.IntN(5_000_000))
			ack.CE = r.IntN(3) == 0
			ack.Telemetry = path.records(now, units.Bytes(r.IntN(100_000)))
			ack.Flight = units.Bytes(ack.Next-ack.Seq) * bigPayload
			c.OnAck(now, &ack)
		case k < 19:
			c.OnCNP(now)
			congested = true
		case losses:
			c.OnLoss(now, r.IntN(2) == 0)
			congested = true
		}
		if window != known {
			d.t.Errorf("%s: window contract: the window was %d B after the last event and is %d B at %s (expected no change)", d.name, known, window, now)
			return nil
		}
		s := sample{rate: c.Rate(now), window: c.Window(now), timer: units.Never}
		if timed != nil {
			s.timer = timed.NextTimer()
		}
		if s.rate <= 0 || s.rate > f.Line {
			d.t.Errorf("%s: rate %s at %s (expected above 0, at most line rate %s)", d.name, s.rate, now, f.Line)
			return nil
		}
		if s.window <= 0 {
			d.t.Errorf("%s: window %d B at %s (expected above 0)", d.name, s.window, now)
			return nil
		}
		if congested && (s.rate > rate || s.window > window) {
			d.t.Errorf("%s: speeds up after a CNP or loss: rate %s to %s, window %d B to %d B (expected no increase)", d.name, rate, s.rate, window, s.window)
			return nil
		}
		known = s.window
		out = append(out, s)
	}
	return out
}

// checkReactive simulates 5 ms of congestion: every ACK echoes a mark, there is a CNP every 10 us,
// and a growing queue at the bottleneck increases the round-trip time. The bytes allowed per round
// trip, by rate and window, must fall to half or less.
func (d *ccDriver) checkReactive(c cc.Control) {
	d.t.Helper()
	f := ccFlow()
	c.Start(0, f)
	timed, _ := c.(cc.Timed)
	allowed := func(now units.Time) units.Bytes { return min(c.Rate(now).In(f.BaseRTT), c.Window(now)) }
	before := allowed(0)
	path := newPath(c)
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
		ack.Telemetry = path.records(now, queue)
		c.OnSend(now, f.MTU)
		c.OnAck(now, &ack)
		if now%(10*units.Microsecond) == 0 {
			c.OnCNP(now)
		}
	}
	if after := allowed(5 * units.Millisecond); after > before/2 {
		d.t.Errorf("%s: reactive: after 5 ms of congestion %d B per round trip are allowed, %d B before (expected at most half)", d.name, after, before)
	}
}
