package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/cc"
	"github.com/xoff-net/xoff/mark"
	"github.com/xoff-net/xoff/registry"
	"github.com/xoff-net/xoff/units"
)

// CongestionControl checks a congestion control: rate in (0, line], a window
// that lets something through, Start sets everything anew, two instances agree,
// the timer contract, no allocations, and a rate that falls under persistent
// congestion where promised.
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
}

func ccAllocs(t testing.TB, e registry.Entry[cc.New], c cc.Control) {
	t.Helper()
	c.Start(0, ccFlow())
	now := units.Time(0)
	ack := cc.Ack{Bytes: 1048, RTT: 10 * units.Microsecond, CE: true}
	if n := testing.AllocsPerRun(200, func() {
		now += units.Microsecond
		ack.Seq++
		ack.Next = ack.Seq + 10
		c.OnSend(now, 1048)
		c.OnAck(now, &ack)
		c.OnCNP(now)
		c.Rate(now)
		c.Window(now)
	}); n != 0 {
		t.Errorf("%s: %v allocations per packet", e.Name, n)
	}
}

func ccFlow() *cc.Flow {
	return &cc.Flow{Line: 100 * units.Gbps, MTU: 1048, BaseRTT: 10 * units.Microsecond}
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
	var out []sample
	ack := cc.Ack{}
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
			}
		}
		now = next
		switch k := r.IntN(20); {
		case k < 8:
			ack.Next++
			c.OnSend(now, 1048)
		case k < 16:
			ack.Seq, ack.Bytes, ack.RTT = min(ack.Seq+1, ack.Next), 1048, f.BaseRTT+units.Time(r.IntN(5_000_000))
			ack.CE = r.IntN(3) == 0
			c.OnAck(now, &ack)
		case k < 19:
			c.OnCNP(now)
		case losses:
			c.OnLoss(now, r.IntN(2) == 0)
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
		out = append(out, s)
	}
	return out
}

// falls keeps the congestion on for 5 ms: every ACK echoes a mark and comes late,
// every 10 us there is a CNP. What may be sent in a round trip, by rate or by
// window, must fall below half of what it was.
func (d *ccDrive) falls(c cc.Control) {
	d.t.Helper()
	f := ccFlow()
	c.Start(0, f)
	timed, _ := c.(cc.Timed)
	speed := func(now units.Time) units.Bytes { return min(c.Rate(now).In(f.BaseRTT), c.Window(now)) }
	before := speed(0)
	ack := cc.Ack{Bytes: 1048, RTT: 10 * f.BaseRTT, CE: true}
	for now := units.Microsecond; now <= 5*units.Millisecond; now += units.Microsecond {
		for timed != nil && timed.NextTimer() <= now {
			timed.OnTimer(timed.NextTimer())
		}
		ack.Seq++
		ack.Next = ack.Seq + 20
		c.OnSend(now, 1048)
		c.OnAck(now, &ack)
		if now%(10*units.Microsecond) == 0 {
			c.OnCNP(now)
		}
	}
	if after := speed(5 * units.Millisecond); after > before/2 {
		d.t.Errorf("%s: reactive: 5 ms of congestion take it from %d B to %d B per round trip", d.name, before, after)
	}
}
