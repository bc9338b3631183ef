package cc

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// Addanki et al. 2022, Algorithm 1. Power of the hop: U = A (8 q + B T) / (B B T)
// with A the rate of arrivals, u = (u (T - time) + U time) / T, T = 4160 ns. The
// rate is floor(0.9 (floor(reference / c) + 150 Mbps)) + floor(0.1 old), between
// 100 Mbps and the line, the window floor(rate T / 8).
//
// In the simulator A is the counter of arrivals, at least half the line rate; the first ACK is
// compared with zero, c = u / 0.95, and old is the reference. In the paper A = (bytes sent +
// growth of the queue) / time, c = u, and old is the current rate.
func TestPowerTCPSteps(t *testing.T) {
	for _, c := range []struct {
		preset string
		steps  []recordStep
	}{
		{"hpcc-sim", []recordStep{
			{1, 48, 104000, 1090, 0, 100000000000, 52000},        // U = 0.500000 over 4160 ns, u = 0.500000; a round trip
			{2, 49, 104087, 3270, 16350, 100000000000, 52000},    // U = 2.628900 over 87 ns, u = 0.544523
			{20, 55, 106000, 30000, 24000, 91872921574, 47773},   // U = 1.635089 over 1913 ns, u = 1.046026
			{49, 60, 108160, 61000, 32000, 68490028792, 35614},   // U = 1.853265 over 2160 ns, u = 1.465169; a round trip
			{50, 61, 108247, 62090, 31000, 46823522627, 24348},   // U = 1.690007 over 87 ns, u = 1.469871
			{61, 70, 112320, 101000, 0, 82151374014, 42718},      // U = 0.764292 over 4073 ns, u = 0.779048; a round trip
			{71, 80, 116480, 131000, 0, 100000000000, 52000},     // U = 0.576000 over 4160 ns, u = 0.576000; a round trip
			{72, 81, 116567, 132090, 0, 100000000000, 52000},     // U = 0.941609 over 87 ns, u = 0.583646
			{81, 90, 120640, 150000, 80000, 78268308692, 40699},  // U = 1.269231 over 4073 ns, u = 1.254893; a round trip
			{91, 100, 124800, 250000, 400000, 11961311460, 6219}, // U = 16.732024 over 4160 ns, u = 16.732024; a round trip
			{101, 110, 128960, 310000, 600000, 2039155476, 1060}, // U = 14.444308 over 4160 ns, u = 14.444308; a round trip
			{111, 120, 173120, 830000, 100000, 971995404, 505},   // U = 2.753962 over 4160 ns, u = 2.753962; a round trip
			{121, 130, 177280, 880000, 50000, 672399617, 349},    // U = 1.887905 over 4160 ns, u = 1.887905; a round trip
			{122, 131, 177368, 881090, 50000, 506969561, 263},    // U = 1.826014 over 88 ns, u = 1.886596
		}},
		{"paper", []recordStep{
			{1, 48, 104000, 1090, 0, 100000000000, 52000},          // stored
			{2, 49, 104087, 3270, 16350, 72312190428, 37602},       // U = 22.396561 over 87 ns, u = 1.447476
			{20, 55, 106000, 30000, 24000, 58849284122, 30601},     // U = 2.101315 over 1913 ns, u = 1.748148
			{49, 60, 108160, 61000, 32000, 49879704291, 25937},     // U = 2.333333 over 2160 ns, u = 2.051994; a round trip
			{50, 61, 108247, 62090, 31000, 27436713840, 14267},     // U = 0.132095 over 87 ns, u = 2.011842
			{61, 70, 112320, 101000, 0, 100000000000, 52000},       // U = 0.155365 over 4073 ns, u = 0.194190; a round trip
			{71, 80, 116480, 131000, 0, 100000000000, 52000},       // U = 0.576923 over 4160 ns, u = 0.576923; a round trip
			{72, 81, 116567, 132090, 0, 100000000000, 52000},       // U = 1.002299 over 87 ns, u = 0.585819
			{81, 90, 120640, 150000, 80000, 28916765897, 15036},    // U = 4.881724 over 4073 ns, u = 4.791882; a round trip
			{91, 100, 124800, 250000, 400000, 3397366861, 1766},    // U = 70.207101 over 4160 ns, u = 70.207101; a round trip
			{101, 110, 128960, 310000, 600000, 523508700, 272},     // U = 62.692308 over 4160 ns, u = 62.692308; a round trip
			{111, 120, 173120, 830000, 100000, 4636072695, 2410},   // U = 0.105909 over 4160 ns, u = 0.105909; a round trip
			{121, 130, 177280, 880000, 50000, 100000000000, 52000}, // U = 0.000000 over 4160 ns, u = 0.000000; a round trip
			{122, 131, 177368, 881090, 50000, 100000000000, 52000}, // U = 1.943706 over 88 ns, u = 0.041117
		}},
	} {
		t.Run(c.preset, func(t *testing.T) { playRecords(t, build(t, "powertcp", c.preset), c.steps) })
	}
}

// Addanki et al. 2022, Algorithm 2. T shrinks to the smallest round-trip time, A =
// 1 + (rtt - last rtt) / (now - last ACK), U = A rtt / T, u = (u (T - time) + U
// time) / T, and the rate follows as in PowerTCP with c = u.
//
// In the simulator A is at least 0.5, T is 5 % larger in U, gamma is 0.7, every ACK counts
// and the first is compared with zero. In the paper the rate changes once per round trip.
func TestThetaSteps(t *testing.T) {
	type step struct {
		seq, next uint32
		now, rtt  units.Time // ns
		rate      units.Rate
		window    units.Bytes
	}
	for _, c := range []struct {
		preset string
		steps  []step
	}{
		{"hpcc-sim", []step{
			{1, 48, 104200, 4200, 100000000000, 52000},   // T = 4160 ns, A = 1.040307, U = 1.000295, u = 1.000295; a round trip
			{2, 49, 104290, 4260, 99150757104, 51558},    // T = 4160 ns, A = 1.666667, U = 1.625458, u = 1.013820
			{20, 55, 106000, 5400, 78580068467, 40861},   // T = 4160 ns, A = 1.666667, U = 2.060440, u = 1.444041
			{49, 60, 108160, 6800, 64647449118, 33616},   // T = 4160 ns, A = 1.648148, U = 2.565798, u = 2.026492; a round trip
			{50, 61, 108260, 6900, 41533945209, 21597},   // T = 4160 ns, A = 2.000000, U = 3.159341, u = 2.053724
			{61, 70, 112500, 5000, 91132056221, 47388},   // T = 4160 ns, A = 0.551887, U = 0.631739, u = 0.631739; a round trip
			{71, 80, 117000, 4100, 100000000000, 51250},  // T = 4100 ns, A = 0.800000, U = 0.761905, u = 0.761905; a round trip
			{72, 81, 117087, 4100, 100000000000, 51250},  // T = 4100 ns, A = 1.000000, U = 0.952381, u = 0.765947
			{81, 90, 121200, 4200, 100000000000, 51250},  // T = 4100 ns, A = 1.024313, U = 0.999330, u = 0.999330; a round trip
			{91, 100, 126000, 9000, 46846666666, 24008},  // T = 4100 ns, A = 2.000000, U = 4.181185, u = 4.181185; a round trip
			{101, 110, 137000, 20000, 17688310748, 9065}, // T = 4100 ns, A = 2.000000, U = 9.291521, u = 9.291521; a round trip
			{111, 120, 160000, 4100, 31413310023, 16099}, // T = 4100 ns, A = 0.500000, U = 0.476190, u = 0.476190; a round trip
		}},
		{"paper", []step{
			{1, 48, 104200, 4200, 100000000000, 52000},  // stored
			{2, 49, 104290, 4260, 100000000000, 52000},  // T = 4160 ns, A = 1.666667, U = 1.706731, u = 1.015290
			{20, 55, 106000, 5400, 100000000000, 52000}, // T = 4160 ns, A = 1.666667, U = 2.163462, u = 1.487255
			{49, 60, 108160, 6800, 52710741008, 27409},  // T = 4160 ns, A = 1.648148, U = 2.694088, u = 2.113880; a round trip
			{50, 61, 108260, 6900, 52710741008, 27409},  // T = 4160 ns, A = 2.000000, U = 3.317308, u = 2.142808
			{61, 70, 112500, 5000, 76924007499, 40000},  // T = 4160 ns, A = 0.551887, U = 0.663325, u = 0.663325; a round trip
			{71, 80, 117000, 4100, 94366909184, 48363},  // T = 4100 ns, A = 0.800000, U = 0.800000, u = 0.800000; a round trip
			{72, 81, 117087, 4100, 94366909184, 48363},  // T = 4100 ns, A = 1.000000, U = 1.000000, u = 0.804244
			{81, 90, 121200, 4200, 90511850609, 46387},  // T = 4100 ns, A = 1.024313, U = 1.049296, u = 1.049296; a round trip
			{91, 100, 126000, 9000, 27741114434, 14217}, // T = 4100 ns, A = 2.000000, U = 4.390244, u = 4.390244; a round trip
			{101, 110, 137000, 20000, 5468229249, 2802}, // T = 4100 ns, A = 2.000000, U = 9.756098, u = 9.756098; a round trip
			{111, 120, 160000, 4100, 16624406790, 8520}, // T = 4100 ns, A = 0.308696, U = 0.308696, u = 0.308696; a round trip
		}},
	} {
		ctl := build(t, "theta-powertcp", c.preset)
		ctl.Start(0, rack())
		for i, s := range c.steps {
			now := s.now * units.Nanosecond
			ctl.OnAck(now, &Ack{Seq: s.seq, Next: s.next, Bytes: 1000, RTT: s.rtt * units.Nanosecond})
			if rate, window := ctl.Rate(now), ctl.Window(now); rate != s.rate || window != s.window {
				t.Errorf("%s, ACK %d: rate %d and window %d, want %d and %d", c.preset, i, rate, window, s.rate, s.window)
			}
		}
	}
}
