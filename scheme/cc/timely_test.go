package cc

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// Mittal et al. 2015, Algorithm 1: the difference of round-trip times is averaged with weight
// 0.875; the gradient is the average over 20 us. Below 50 us the rate rises; above 500 us it
// is multiplied by 1 - 0.8 (1 - 500 us / rtt). In between, it rises if the gradient is not
// positive, else it is multiplied by 1 - 0.8 gradient, at least by 0. In the simulator all
// increases count as stages, in the paper only those above 50 us; from the sixth consecutive
// one, they are large.
func TestTimelySteps(t *testing.T) {
	type step struct {
		seq, next uint32
		rtt       units.Time // ns
		rate      units.Rate
	}
	for _, c := range []struct {
		preset string
		steps  []step
	}{
		{"hpcc-sim", []step{
			{1, 40, 10000, 100000000000},  // stored
			{20, 45, 20000, 100000000000}, // same round trip
			{41, 60, 30000, 100000000000}, // difference 17500.0 ns, gradient 0.875000: +50 Mbps
			{61, 80, 60000, 100000000},    // difference 28437.5 ns, gradient 1.421875: x 0.000000
			{81, 100, 55000, 150000000},   // difference -820.3 ns, gradient -0.041016: +50 Mbps
			{82, 101, 90000, 150000000},   // same round trip
			{101, 120, 40000, 200000000},  // difference -13227.5 ns, gradient -0.661377: +50 Mbps
			{121, 140, 40000, 250000000},  // difference -1653.4 ns, gradient -0.082672: +50 Mbps
			{141, 160, 40000, 300000000},  // difference -206.7 ns, gradient -0.010334: +50 Mbps
			{161, 180, 40000, 350000000},  // difference -25.8 ns, gradient -0.001292: +50 Mbps
			{181, 200, 40000, 450000000},  // difference -3.2 ns, gradient -0.000161: +100 Mbps
			{201, 220, 40000, 550000000},  // difference -0.4 ns, gradient -0.000020: +100 Mbps
			{221, 240, 700000, 424285714}, // difference 577499.9 ns, gradient 28.874997: x 0.771429
			{241, 260, 450000, 474285714}, // difference -146562.5 ns, gradient -7.328125: +50 Mbps
			{261, 280, 440000, 524285714}, // difference -27070.3 ns, gradient -1.353516: +50 Mbps
			{281, 300, 900000, 337873015}, // difference 399116.2 ns, gradient 19.955811: x 0.644444
			{301, 320, 60000, 387873015},  // difference -685110.5 ns, gradient -34.255524: +50 Mbps
			{321, 340, 60000, 437873015},  // difference -85638.8 ns, gradient -4.281940: +50 Mbps
			{341, 360, 60000, 487873015},  // difference -10704.9 ns, gradient -0.535243: +50 Mbps
			{361, 380, 60000, 537873015},  // difference -1338.1 ns, gradient -0.066905: +50 Mbps
			{381, 400, 60000, 587873015},  // difference -167.3 ns, gradient -0.008363: +50 Mbps
			{401, 420, 60000, 687873015},  // difference -20.9 ns, gradient -0.001045: +100 Mbps
			{421, 440, 60000, 787873015},  // difference -2.6 ns, gradient -0.000131: +100 Mbps
			{441, 460, 60100, 785125754},  // difference 87.2 ns, gradient 0.004359: x 0.996513
		}},
		{"paper", []step{
			{1, 40, 10000, 100000000000},  // stored
			{20, 45, 20000, 100000000000}, // same round trip
			{41, 60, 30000, 100000000000}, // difference 17500.0 ns, gradient 0.875000: +10 Mbps
			{61, 80, 60000, 10000000},     // difference 28437.5 ns, gradient 1.421875: x 0.000000
			{81, 100, 55000, 20000000},    // difference -820.3 ns, gradient -0.041016: +10 Mbps
			{82, 101, 90000, 20000000},    // same round trip
			{101, 120, 40000, 30000000},   // difference -13227.5 ns, gradient -0.661377: +10 Mbps
			{121, 140, 40000, 40000000},   // difference -1653.4 ns, gradient -0.082672: +10 Mbps
			{141, 160, 40000, 50000000},   // difference -206.7 ns, gradient -0.010334: +10 Mbps
			{161, 180, 40000, 60000000},   // difference -25.8 ns, gradient -0.001292: +10 Mbps
			{181, 200, 40000, 70000000},   // difference -3.2 ns, gradient -0.000161: +10 Mbps
			{201, 220, 40000, 80000000},   // difference -0.4 ns, gradient -0.000020: +10 Mbps
			{221, 240, 700000, 61714285},  // difference 577499.9 ns, gradient 28.874997: x 0.771429
			{241, 260, 450000, 71714285},  // difference -146562.5 ns, gradient -7.328125: +10 Mbps
			{261, 280, 440000, 81714285},  // difference -27070.3 ns, gradient -1.353516: +10 Mbps
			{281, 300, 900000, 52660316},  // difference 399116.2 ns, gradient 19.955811: x 0.644444
			{301, 320, 60000, 62660316},   // difference -685110.5 ns, gradient -34.255524: +10 Mbps
			{321, 340, 60000, 72660316},   // difference -85638.8 ns, gradient -4.281940: +10 Mbps
			{341, 360, 60000, 82660316},   // difference -10704.9 ns, gradient -0.535243: +10 Mbps
			{361, 380, 60000, 92660316},   // difference -1338.1 ns, gradient -0.066905: +10 Mbps
			{381, 400, 60000, 102660316},  // difference -167.3 ns, gradient -0.008363: +10 Mbps
			{401, 420, 60000, 152660316},  // difference -20.9 ns, gradient -0.001045: +50 Mbps
			{421, 440, 60000, 202660316},  // difference -2.6 ns, gradient -0.000131: +50 Mbps
			{441, 460, 60100, 201953653},  // difference 87.2 ns, gradient 0.004359: x 0.996513
		}},
	} {
		ctl := build(t, "timely", c.preset)
		ctl.Start(0, rack())
		for i, s := range c.steps {
			now := units.Time(i) * units.Millisecond
			ctl.OnAck(now, &Ack{Seq: s.seq, Next: s.next, Bytes: 1000, RTT: s.rtt * units.Nanosecond})
			if rate := ctl.Rate(now); rate != s.rate {
				t.Errorf("%s, ACK %d: rate %d, want %d", c.preset, i, rate, s.rate)
			}
			if ctl.Window(now) != Unlimited {
				t.Errorf("%s has a window", c.preset)
			}
		}
	}
}

// After going back, a sender retransmits after the last update: ACKs of these packets count,
// although packets with their numbers had been sent before it. Next shows this.
func TestTimelyGoesBack(t *testing.T) {
	ctl := build(t, "timely", "hpcc-sim")
	ctl.Start(0, rack())
	for i, s := range []struct {
		ack  Ack
		rate units.Rate
	}{
		{Ack{Seq: 1, Next: 40, RTT: 10 * units.Microsecond}, 100_000_000_000},  // stored
		{Ack{Seq: 41, Next: 90, RTT: 900 * units.Microsecond}, 64_444_444_444}, // x (1 - 0.8 (1 - 500 / 900)), up to 90 is old
		{Ack{Seq: 50, Next: 95, RTT: 40 * units.Microsecond}, 64_444_444_444},  // same round trip
		{Ack{Seq: 50, Next: 50, Nack: true}, 64_444_444_444},                   // 50 is lost: back to it
		{Ack{Seq: 51, Next: 60, RTT: 40 * units.Microsecond}, 64_494_444_444},  // below t_low: +50 Mbps, up to 60 is old
		{Ack{Seq: 60, Next: 70, RTT: 40 * units.Microsecond}, 64_494_444_444},
		{Ack{Seq: 61, Next: 70, RTT: 40 * units.Microsecond}, 64_544_444_444},
		{Ack{Seq: 63, Next: 64, RTT: 40 * units.Microsecond}, 64_544_444_444}, // a timeout, back to 62: 62 and 63 were sent since
		{Ack{Seq: 65, Next: 66, RTT: 40 * units.Microsecond}, 64_594_444_444}, // +50 Mbps, the third in a row
	} {
		ctl.OnAck(units.Time(i)*units.Millisecond, &s.ack)
		if got := ctl.Rate(0); got != s.rate {
			t.Errorf("ACK %d: rate %d, want %d", i, got, s.rate)
		}
	}
}

// Rates always stay between the lowest and the line rate. Of two flows of theta-PowerTCP that
// differ in the last round-trip time only, the one with the longer is not faster. For TIMELY
// this is not true: just above t_high it lowers its rate by nearly nothing, just below by the
// gradient.
func TestDelayBounds(t *testing.T) {
	for _, name := range []string{"timely", "theta-powertcp"} {
		for _, preset := range []string{"paper", "hpcc-sim"} {
			a, b := build(t, name, preset), build(t, name, preset)
			lowest := 100 * units.Mbps
			if name == "timely" && preset == "paper" {
				lowest = 10 * units.Mbps
			}
			trials.Check(t, func(t *rapid.T) {
				a.Start(0, rack())
				b.Start(0, rack())
				seq, now := uint32(0), units.Time(0)
				events := rapid.IntRange(1, 60).Draw(t, "events")
				for i := range events {
					now += units.Time(rapid.Int64Range(0, int64(100*units.Microsecond)).Draw(t, "later"))
					seq += rapid.Uint32Range(0, 20).Draw(t, "acked")
					ack := Ack{Seq: seq, Next: seq + rapid.Uint32Range(1, 60).Draw(t, "flight"), Bytes: 1000}
					ack.RTT = units.Time(rapid.Int64Range(int64(4160*units.Nanosecond), int64(units.Millisecond)).Draw(t, "rtt"))
					a.OnAck(now, &ack)
					if i == events-1 {
						ack.RTT += units.Time(rapid.Int64Range(0, int64(units.Millisecond)).Draw(t, "longer"))
					}
					b.OnAck(now, &ack)
					if a.Rate(0) < lowest || a.Rate(0) > 100*units.Gbps || a.Window(0) < 1 {
						t.Fatalf("%s: rate %s, window %d", name, a.Rate(0), a.Window(0))
					}
				}
				if name != "timely" && b.Rate(0) > a.Rate(0) {
					t.Fatalf("%s, %s: a longer round trip makes it faster: %s instead of %s", name, preset, b.Rate(0), a.Rate(0))
				}
			})
		}
	}
}

func TestTimelyParams(t *testing.T) {
	for i, bad := range []func(*TimelyParams){
		func(p *TimelyParams) { p.Alpha = 0 }, func(p *TimelyParams) { p.Beta = 2 }, func(p *TimelyParams) { p.TLow = -1 },
		func(p *TimelyParams) { p.THigh = 0 }, func(p *TimelyParams) { p.MinRTT = 0 }, func(p *TimelyParams) { p.Stages = -1 },
		func(p *TimelyParams) { p.AI = 0 }, func(p *TimelyParams) { p.HAI = 0 }, func(p *TimelyParams) { p.MinRate = 0 }, func(p *TimelyParams) { p.Clock = 0 },
	} {
		p := timelyPresets.params("paper")
		bad(p)
		if _, err := newTimely(p); err == nil {
			t.Errorf("case %d: %+v is accepted", i, p)
		}
	}
}
