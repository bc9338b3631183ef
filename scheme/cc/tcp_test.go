package cc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// tcpStep is an event of a TCP flow with segments of 1000 B, and the window after it.
type tcpStep struct {
	what   string     // ack, mark (an ACK that echoes one), loss, timeout
	at     units.Time // us
	flight uint32     // packets in flight before it
	acked  uint32     // packets that it acknowledges
	rtt    units.Time // us
	window units.Bytes
}

// playTCP sends packets until the flight of each step is reached. After a timeout everything
// is retransmitted.
func playTCP(t *testing.T, c Control, rtt units.Time, steps []tcpStep) {
	t.Helper()
	c.Start(0, &Flow{Line: 100 * units.Gbps, MTU: 1048, MSS: 1000, BaseRTT: rtt})
	una, next := uint32(0), uint32(0)
	for i, s := range steps {
		now := s.at * units.Microsecond
		for ; next < una+s.flight; next++ {
			c.OnSend(now, 1048)
		}
		if next != una+s.flight {
			t.Fatalf("step %d: %d in flight", i, next-una)
		}
		switch s.what {
		case "loss":
			c.OnLoss(now, false)
		case "timeout":
			c.OnLoss(now, true)
			next = una
		default:
			una += s.acked
			c.OnAck(now, &Ack{Seq: una, Next: next, Bytes: units.Bytes(s.acked) * 1000, Flight: units.Bytes(next-una) * 1000, CE: s.what == "mark", RTT: s.rtt * units.Microsecond})
		}
		if got := c.Window(now); got != s.window {
			t.Errorf("step %d (%s): window %d, want %d", i, s.what, got, s.window)
		}
		if c.Rate(now) != 100*units.Gbps {
			t.Errorf("step %d: paced", i)
		}
	}
}

// RFC 5681: slow start adds what is acknowledged, at most a segment per ACK (eq.
// 2); congestion avoidance a segment per window (section 3.1); a loss leaves half
// of the flight, at least two segments (eq. 4), once per window (RFC 6582, section
// 3.2). RFC 3168, section 6.1.2: a mark halves the window, once per window.
func TestNewRenoSteps(t *testing.T) {
	playTCP(t, build(t, "newreno", ""), 10*units.Microsecond, []tcpStep{
		{"ack", 1, 10, 1, 0, 11_000},    // initial window 10 segments, slow start
		{"ack", 2, 11, 1, 0, 12_000},    //
		{"mark", 3, 12, 1, 0, 6_000},    // half
		{"mark", 4, 11, 1, 0, 6_000},    // the same window of data
		{"ack", 5, 10, 5, 0, 6_000},     // congestion avoidance: 5,000 of 6,000 B
		{"ack", 6, 6, 1, 0, 7_000},      // 6,000 of 6,000 B
		{"ack", 7, 7, 5, 0, 7_000},      // 5,000 of 7,000 B
		{"loss", 7, 7, 0, 0, 3_500},     // half of 7,000 B in flight; the window of the mark is over
		{"ack", 9, 7, 2, 0, 3_500},      // a partial ACK: the window stays
		{"mark", 10, 5, 5, 0, 3_500},    // everything is acknowledged: recovery ends; the mark belongs to an earlier window
		{"ack", 11, 3, 1, 0, 3_500},     // 1,000 of 3,500 B
		{"timeout", 12, 12, 0, 0, 1000}, // threshold 6,000 B, half of the flight
		{"timeout", 13, 1, 0, 0, 1000},  // the same segment again: the threshold stays
		{"ack", 14, 1, 1, 0, 2_000},     // slow start
		{"ack", 15, 2, 2, 0, 3_000},     // two segments at once count for one
		{"ack", 16, 3, 3, 0, 4_000},     //
		{"ack", 17, 1, 1, 0, 4_000},     // 1,000 B of the window were in use, not half
		{"ack", 18, 2, 1, 0, 5_000},     // 2,000 B: within a segment of half
		{"ack", 19, 5, 1, 0, 6_000},     //
		{"ack", 20, 6, 1, 0, 6_000},     // congestion avoidance from the threshold: 1,000 of 6,000 B
		{"ack", 21, 6, 6, 0, 7_000},     // 7,000 of 6,000 B: a segment, 1,000 B are left
		{"ack", 22, 7, 6, 0, 8_000},     // 7,000 of 7,000 B
	})
}

// A loss or timeout and a mark in one window of data cause one reaction, whichever is first.
func TestNewRenoOneReactionPerWindow(t *testing.T) {
	playTCP(t, build(t, "newreno", ""), 10*units.Microsecond, []tcpStep{
		{"mark", 1, 10, 1, 0, 5_000},
		{"loss", 2, 9, 0, 0, 5_000},
		{"ack", 3, 9, 9, 0, 5_000},
		{"loss", 4, 5, 0, 0, 2_500},
		{"mark", 5, 5, 1, 0, 2_500},
	})
	playTCP(t, build(t, "newreno", ""), 10*units.Microsecond, []tcpStep{
		{"timeout", 1, 10, 0, 0, 1_000}, // threshold 5,000 B
		{"mark", 2, 1, 1, 0, 1_000},     // sent before the timeout: the threshold stays
		{"ack", 3, 1, 1, 0, 2_000},
		{"ack", 4, 2, 1, 0, 3_000},
	})
}

func TestNewRenoWithoutECN(t *testing.T) {
	f, err := newNewReno(&NewRenoParams{})
	if err != nil {
		t.Fatal(err)
	}
	c := f()
	c.Start(0, &Flow{Line: 100 * units.Gbps, MTU: 1048, MSS: 1000, BaseRTT: 4160 * units.Nanosecond})
	if w := c.Window(0); w != 52_000 {
		t.Errorf("initial window %d, want one bandwidth-delay product, 52,000 B", w)
	}
	for range 52 {
		c.OnSend(0, 1048)
	}
	c.OnAck(1, &Ack{Seq: 1, Next: 52, Bytes: 1000, CE: true})
	if w := c.Window(0); w != 53_000 {
		t.Errorf("window %d after an ignored mark, want 53,000", w)
	}
}

// RFC 8257, section 3.3: alpha = 15/16 alpha + 1/16 share of marked bytes, once per
// window; a mark leaves window x (1 - alpha / 2), once per window, at least two
// segments; growth as in NewReno.
func TestDCTCPSteps(t *testing.T) {
	playTCP(t, build(t, "dctcp", ""), 10*units.Microsecond, []tcpStep{
		{"mark", 1, 10, 1, 0, 5_000},   // alpha = 1: half. First window ends: 1 of 1 kB marked, alpha = 1
		{"ack", 2, 9, 4, 0, 5_000},     // 4,000 of 5,000 B
		{"ack", 3, 5, 5, 0, 6_000},     // 9,000 of 5,000 B: a segment, 4,000 B are left
		{"ack", 4, 6, 1, 0, 6_000},     // 5,000 of 6,000 B. Window ends: 0 of 10 kB marked, alpha = 0.9375
		{"mark", 5, 6, 1, 0, 3_187},    // 6,000 x (1 - 0.46875) = 3187.5
		{"mark", 6, 5, 1, 0, 3_187},    // the same window
		{"ack", 7, 4, 3, 0, 3_187},     // 3,000 of 3,187 B
		{"ack", 8, 3, 1, 0, 4_187},     // 4,000 of 3,187 B. 2 of 6 kB marked: alpha = 0.87890625 + 1/48 = 0.8997396
		{"mark", 9, 2, 1, 0, 2_303},    // 4,187 x (1 - 0.4498698) = 2303.4
		{"mark", 10, 2, 2, 0, 2_000},   // 3 of 3 kB: alpha = 0.9060059; 2,303 x 0.547 = 1,260: two segments
		{"loss", 11, 2, 0, 0, 2_000},   // section 3.5: as NewReno
		{"ack", 12, 2, 2, 0, 2_000},    // recovery ends. 0 of 2 kB: alpha = 0.8493805
		{"ack", 13, 2, 2, 0, 3_000},    // 2,000 of 2,000 B. alpha = 0.7962942
		{"mark", 14, 3, 1, 0, 2_000},   // 1 of 1 kB: alpha = 0.8090258; 3,000 x 0.595 = 1,786: two segments
		{"timeout", 15, 8, 0, 0, 1000}, // threshold 4,000 B
		{"ack", 16, 1, 1, 0, 2_000},    // slow start
		{"ack", 17, 2, 1, 0, 3_000},    //
		{"ack", 18, 3, 1, 0, 4_000},    //
		{"ack", 19, 4, 1, 0, 4_000},    // congestion avoidance from the threshold: 1,000 of 4,000 B
	})
}

// RFC 8257, section 3.5: a loss causes a reaction even after a mark.
func TestDCTCPLossAfterMark(t *testing.T) {
	playTCP(t, build(t, "dctcp", ""), 10*units.Microsecond, []tcpStep{
		{"mark", 1, 10, 1, 0, 5_000},
		{"loss", 2, 9, 0, 0, 4_500},
	})
}

// A mark during a recovery is ignored: the window stays until it ends.
func TestDCTCPMarkInRecovery(t *testing.T) {
	playTCP(t, build(t, "dctcp", ""), 10*units.Microsecond, []tcpStep{
		{"loss", 1, 10, 0, 0, 5_000},
		{"mark", 2, 10, 1, 0, 5_000},
	})
}

// RFC 9438: W_cubic(t) = 0.4 (t - K)^3 + W_max in segments and seconds, K = cube
// root of ((W_max - window) / 0.4) (section 4.2); per ACK the window goes bytes /
// window of the way to W_cubic(t + RTT), at most half of itself; where W_cubic(t)
// is below W_est, which grows by 0.529 segments per window, and by one when the
// window before the last reduction is reached, the window is W_est (section 4.3).
// A loss or mark leaves 0.7 of the flight (4.6); W_max is the window before it, or
// 0.85 of that when it was below the last W_max (4.7); after a timeout K = 0 (4.8).
func TestCubicSteps(t *testing.T) {
	playTCP(t, build(t, "cubic", ""), 10*units.Millisecond, []tcpStep{
		{"ack", 10000, 10, 1, 10000, 11000},   // slow start
		{"ack", 10500, 11, 1, 10000, 12000},   // slow start
		{"loss", 11000, 12, 0, 0, 8400},       // threshold 8400
		{"ack", 20000, 12, 12, 0, 8400},       // everything is acknowledged: recovery ends
		{"ack", 25000, 8, 4, 10000, 8652},     // K = 2.0801 s, W_cubic 8400.0 below W_est: 8652.1
		{"ack", 30000, 8, 4, 10000, 8896},     // K = 2.0801 s, W_cubic 8425.9 below W_est: 8896.9
		{"ack", 40000, 9, 8, 12000, 9372},     // K = 2.0801 s, W_cubic 8477.3 below W_est: 9372.9
		{"ack", 500000, 12, 8, 50000, 10243},  // K = 2.0801 s, W_est 9824.8, smoothed RTT 15.19 ms, target 10392.5
		{"ack", 1000000, 12, 8, 10000, 11210}, // K = 2.0801 s, W_est 10238.2, target 11481.3
		{"ack", 1200000, 4, 4, 10000, 11210},  // the window is not in use: the curve waits 200 ms (5.8)
		{"ack", 1500000, 12, 8, 10000, 11632}, // K = 2.0801 s, W_est 10616.1, target 11801.6
		{"ack", 2000000, 12, 8, 10000, 11878}, // K = 2.0801 s, W_est 10980.2, target 11990.0
		{"ack", 2500000, 12, 8, 10000, 11962}, // K = 2.0801 s, W_est 11336.7, target 12003.6
		{"mark", 2501000, 12, 1, 0, 8400},     // threshold 8400, fast convergence: W_max 10168
		{"ack", 2520000, 11, 7, 10000, 8841},  // K = 1.6410 s, W_cubic 8400.0 below W_est: 8841.2
		{"ack", 3000000, 9, 7, 10000, 9411},   // K = 1.6410 s, W_est 9260.3, target 9561.0
		{"loss", 3100000, 9, 0, 0, 6300},      // threshold 6300, fast convergence: W_max 7999
		{"ack", 3150000, 9, 9, 0, 6300},       // recovery ends
		{"ack", 3200000, 7, 4, 10000, 6636},   // K = 1.6196 s, W_cubic 6300.0 below W_est: 6636.1
		{"ack", 4000000, 7, 6, 10000, 7677},   // K = 1.6196 s, W_est 7114.8, target 7788.3
		{"timeout", 4100000, 4, 0, 0, 1000},   // threshold 2800, fast convergence: W_max 6525
		{"ack", 4110000, 1, 1, 10000, 2000},   // slow start
		{"ack", 4120000, 2, 2, 10000, 3000},   // slow start
		{"ack", 4130000, 3, 2, 10000, 3352},   // K = 0.0000 s, W_cubic 3000.0 below W_est: 3352.9
		{"ack", 4140000, 4, 3, 10000, 3826},   // K = 0.0000 s, W_cubic 3000.0 below W_est: 3826.6
		{"ack", 5630000, 4, 3, 10000, 4259},   // K = 0.0000 s, W_est 4241.7, target 4379.4
	})
}

// RFC 9438, section 4.3, for short round trips and a flat curve: W_est grows by 0.529 segments
// per window up to 12,000 B, the window before the loss, then by one.
func TestCubicLikeReno(t *testing.T) {
	playTCP(t, build(t, "cubic", ""), 100*units.Microsecond, []tcpStep{
		{"ack", 100, 10, 1, 100, 11000},   // slow start
		{"ack", 150, 11, 1, 100, 12000},   // slow start
		{"loss", 200, 12, 0, 0, 8400},     // threshold 8400
		{"ack", 300, 12, 12, 0, 8400},     // recovery ends
		{"ack", 400, 9, 8, 100, 8904},     // 8400.0 + 529.4 x 8000 / 8400.0
		{"ack", 500, 9, 8, 100, 9379},     // 8904.2 + 529.4 x 8000 / 8904.2
		{"ack", 600, 9, 8, 100, 9831},     // 9379.9 + 529.4 x 8000 / 9379.9
		{"ack", 700, 10, 9, 100, 10316},   // 9831.4 + 529.4 x 9000 / 9831.4
		{"ack", 800, 10, 9, 100, 10777},   // 10316.0 + 529.4 x 9000 / 10316.0
		{"ack", 900, 10, 9, 100, 11219},   // 10777.9 + 529.4 x 9000 / 10777.9
		{"ack", 1000, 11, 10, 100, 11691}, // 11220.0 + 529.4 x 10000 / 11220.0
		{"ack", 1100, 11, 10, 100, 12144}, // 11691.8 + 529.4 x 10000 / 11691.8
		{"ack", 1200, 11, 10, 100, 12968}, // 12144.6 + 1000 x 10000 / 12144.6
		{"ack", 1300, 12, 11, 100, 13816}, // 12968.0 + 1000 x 11000 / 12968.0
		{"ack", 1400, 12, 11, 100, 14612}, // 13816.3 + 1000 x 11000 / 13816.3
	})
}

// On a long path the window follows the curve of the RFC within half a segment:
// 1000 segments before the loss, round trips of 50 ms (Reno would need 28 s).
func TestCubicFollowsTheCurve(t *testing.T) {
	const rtt = 50 * units.Millisecond
	p := defaultCubic()
	p.InitialSegments = 1000
	f, err := newCubic(p)
	if err != nil {
		t.Fatal(err)
	}
	c := f()
	c.Start(0, &Flow{Line: 100 * units.Gbps, MTU: 1048, MSS: 1000, BaseRTT: rtt})
	for range 1000 {
		c.OnSend(0, 1048)
	}
	c.OnLoss(0, false)
	c.OnAck(0, &Ack{Seq: 1000, Next: 1000, Bytes: 1_000_000})
	k := math.Cbrt((1000 - 700) / 0.4) // 9.086 s
	curve := func(t float64) float64 { return 0.4*math.Pow(t-k, 3) + 1000 }
	// A full window is always in flight; its ACKs are evenly spaced.
	packets := func() uint32 { return uint32(c.Window(0) / 1000) }
	first := rtt / units.Time(packets())
	for seq, now := uint32(1001), first; now < 15*units.Second; seq++ {
		c.OnSend(now, 1048)
		c.OnAck(now, &Ack{Seq: seq, Next: seq + packets(), Bytes: 1000, Flight: units.Bytes(packets()) * 1000, RTT: rtt})
		at := (now - first).Seconds()
		if got, want := float64(c.Window(now))/1000, curve(at); math.Abs(got-want) > 0.5 {
			t.Fatalf("after %.3f s the window is %.2f segments, the curve %.2f", at, got, want)
		}
		now += rtt / units.Time(packets())
	}
}

func TestCubeRoot(t *testing.T) {
	for _, c := range []struct{ v, want float64 }{{0, 0}, {-1, 0}, {1, 1}, {8, 2}, {27, 3}, {1e-9, 1e-3}, {1e15, 1e5}} {
		if got := cubeRoot(c.v); math.Abs(got-c.want) > 1e-15*c.want {
			t.Errorf("cube root of %v is %v", c.v, got)
		}
	}
	trials.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-12, 1e12).Draw(t, "v")
		x := cubeRoot(v)
		if got := x * x * x; math.Abs(got-v) > 2e-15*v {
			t.Fatalf("%v cubed is %v, not %v", x, got, v)
		}
	})
}

// Windows always stay between a segment and the largest that TCP can advertise, and a loss or
// mark never raises one.
func TestTCPBounds(t *testing.T) {
	for _, name := range []string{"newreno", "cubic", "dctcp"} {
		c := build(t, name, "")
		trials.Check(t, func(t *rapid.T) {
			c.Start(0, rack())
			una, next, now := uint32(0), uint32(0), units.Time(0)
			for range rapid.IntRange(1, 200).Draw(t, "events") {
				now += units.Time(rapid.Int64Range(0, int64(20*units.Millisecond)).Draw(t, "later"))
				before := c.Window(now)
				bad := true
				switch rapid.IntRange(0, 5).Draw(t, "what") {
				case 0:
					c.OnLoss(now, false)
				case 1:
					c.OnLoss(now, true)
					next = una
				case 2:
					for range rapid.IntRange(0, 50).Draw(t, "sent") {
						c.OnSend(now, 1090)
						next++
					}
				default:
					n := rapid.Uint32Range(0, next-una).Draw(t, "acked")
					una += n
					bad = rapid.Bool().Draw(t, "marked")
					c.OnAck(now, &Ack{Seq: una, Next: next, Bytes: units.Bytes(n) * 1000, CE: bad, RTT: units.Time(rapid.Int64Range(0, int64(units.Second)).Draw(t, "rtt"))})
				}
				after := c.Window(now)
				if after < 1000 || after > maxWindow {
					t.Fatalf("%s: window %d", name, after)
				}
				if bad && after > before {
					t.Fatalf("%s: window from %d to %d at a loss or mark", name, before, after)
				}
			}
		})
	}
}

func TestTCPParams(t *testing.T) {
	for i, p := range []any{
		&NewRenoParams{InitialSegments: -1}, &NewRenoParams{InitialSegments: 1_000_000},
		&CubicParams{C: 0, Beta: 0.7}, &CubicParams{C: 0.4, Beta: 1}, &CubicParams{C: 0.4, Beta: 0}, &CubicParams{C: 0.4, Beta: 0.7, InitialSegments: -1},
		&DCTCPParams{G: 0}, &DCTCPParams{G: 1.5}, &DCTCPParams{G: 0.5, InitialAlpha: 2}, &DCTCPParams{G: 0.5, InitialSegments: -1},
	} {
		var err error
		switch p := p.(type) {
		case *NewRenoParams:
			_, err = newNewReno(p)
		case *CubicParams:
			_, err = newCubic(p)
		case *DCTCPParams:
			_, err = newDCTCP(p)
		}
		if err == nil {
			t.Errorf("case %d: %+v is accepted", i, p)
		}
	}
}
