package cc

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// build makes the control of a preset, or with the defaults for an empty name.
func build(t testing.TB, name, preset string) Control {
	t.Helper()
	e, err := Algorithms.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	params := e.Params()
	if preset != "" {
		if err := params.(interface{ ApplyPreset(string) error }).ApplyPreset(preset); err != nil {
			t.Fatal(err)
		}
	}
	f, err := e.New(params)
	if err != nil {
		t.Fatal(err)
	}
	return f()
}

// rack returns a flow on a path of 4.16 us at 100 Gbps: 52,000 B in a round trip.
func rack() *Flow {
	return &Flow{Line: 100 * units.Gbps, MTU: 1090, MSS: 1000, BaseRTT: 4160 * units.Nanosecond}
}

// recordStep is an ACK with the record of one hop of 100 Gbps, and the expected rate and
// window.
type recordStep struct {
	seq, next uint32
	ns        units.Time  // time of the record
	bytes     units.Bytes // counter
	queue     units.Bytes
	rate      units.Rate
	window    units.Bytes
}

func playRecords(t *testing.T, c Control, steps []recordStep) {
	t.Helper()
	spec := c.(Telemetry).NeedsTelemetry()
	c.Start(0, rack())
	for i, s := range steps {
		at := s.ns * units.Nanosecond
		ext := spec.Format.Append(nil, &telemetry.Record{Time: at, Bytes: s.bytes, Queue: s.queue, Rate: 100 * units.Gbps})
		c.OnAck(at+2*units.Microsecond, &Ack{Seq: s.seq, Next: s.next, Bytes: 1000, Telemetry: ext})
		if rate, window := c.Rate(at), c.Window(at); rate != s.rate || window != s.window {
			t.Errorf("ACK %d: rate %d and window %d, want %d and %d", i, rate, window, s.rate, s.window)
		}
	}
}

// Li et al. 2019, Algorithm 1. Load of the hop: U = bytes x 8 / time / B + shorter
// queue / 52,000 B, bytes in units of 128, queues in units of 80. Average: u =
// (u (4160 - time) + U time) / 4160, time at most 4160 ns. With c = u / 0.95: from
// c = 1 or stage 5 on floor(reference / c) + 50 Mbps, else reference + 50 Mbps;
// between 100 Mbps and the line. The window is floor(52,000 x rate / line).
func TestHPCCSteps(t *testing.T) {
	playRecords(t, build(t, "hpcc", "hpcc-sim"), []recordStep{
		{1, 48, 1000, 1090, 0, 100000000000, 52000},               // stored
		{2, 49, 1087, 2180, 8000, 94932309443, 49364},             // U = 1.059310 over 87 ns, u = 1.001240, c = 1.053937
		{40, 60, 5000, 51000, 16000, 83236928706, 43283},          // U = 1.150892 over 3913 ns, u = 1.142006, c = 1.202112
		{49, 62, 5800, 61000, 24000, 81000178959, 42120},          // U = 1.306092 over 800 ns, u = 1.173561, c = 1.235328; a round trip, stage 0
		{62, 70, 9960, 110000, 800, 80360871077, 41787},           // U = 0.958154 over 4160 ns, u = 0.958154, c = 1.008583
		{63, 71, 9960, 110000, 800, 80360871077, 41787},           // U = 0.000000 over 0 ns, u = 0.958154, c = 1.008583; a round trip, stage 0
		{71, 80, 14120, 131000, 0, 80410871077, 41813},            // U = 0.403692 over 4160 ns, u = 0.403692, c = 0.424939
		{81, 90, 18280, 142000, 0, 80410871077, 41813},            // U = 0.211692 over 4160 ns, u = 0.211692, c = 0.222834; a round trip, stage 1
		{91, 100, 22440, 153000, 0, 80460871077, 41839},           // U = 0.211692 over 4160 ns, u = 0.211692, c = 0.222834; a round trip, stage 2
		{101, 110, 26600, 164000, 0, 80510871077, 41865},          // U = 0.211692 over 4160 ns, u = 0.211692, c = 0.222834; a round trip, stage 3
		{111, 120, 30760, 175000, 0, 80560871077, 41891},          // U = 0.211692 over 4160 ns, u = 0.211692, c = 0.222834; a round trip, stage 4
		{121, 130, 34920, 186000, 0, 80610871077, 41917},          // U = 0.211692 over 4160 ns, u = 0.211692, c = 0.222834; a round trip, stage 5
		{122, 131, 16777236, 190000, 0, 100000000000, 52000},      // U = 0.000019 over 4160 ns, u = 0.000019, c = 0.000020
		{132, 140, 16777320, 192000, 400000, 100000000000, 52000}, // U = 1.950476 over 84 ns, u = 0.039403, c = 0.041477; a round trip, stage 0
		{141, 150, 16781516, 245000, 9000000, 10966226034, 5702},  // U = 8.702641 over 4160 ns, u = 8.702641, c = 9.160675; a round trip, stage 0
		{151, 160, 16785716, 290000, 9000000, 109896241, 57},      // U = 173.932695 over 4160 ns, u = 173.932695, c = 183.087047; a round trip, stage 0
	})
}

// twoHops returns the records of a path over ports of 400 Gbps and 100 Gbps.
func twoHops(f telemetry.Format, at units.Time, fast, slow telemetry.Record) packet.Ext {
	fast.Time, slow.Time = at, at+units.Microsecond
	fast.Rate, slow.Rate = 400*units.Gbps, 100*units.Gbps
	fast.Tag, slow.Tag = 1, 2
	return f.Append(f.Append(nil, &fast), &slow)
}

// The most loaded hop decides, with its own rate. T = 4160 ns elapse, so u = U.
func TestHPCCMostLoadedHop(t *testing.T) {
	c := build(t, "hpcc", "paper")
	c.Start(0, rack())
	at := units.Time(0)
	seq := uint32(1)
	ack := func(fast, slow telemetry.Record) units.Rate {
		c.OnAck(at, &Ack{Seq: seq, Next: seq + 1, Telemetry: twoHops(telemetry.Exact, at, fast, slow)})
		at += 4160 * units.Nanosecond
		seq += 2
		return c.Rate(at)
	}
	ack(telemetry.Record{}, telemetry.Record{})
	for i, s := range []struct {
		fast, slow telemetry.Record
		want       units.Rate
	}{
		// 208,000 B at 400 Gbps in 4160 ns: full, load 1; 26,000 B at 100 Gbps: 0.5.
		// 100 G x 0.95 + 50 M.
		{telemetry.Record{Bytes: 208_000}, telemetry.Record{Bytes: 26_000}, 95_050_000_000},
		// The slow one: 52,000 B, load 1, and a queue of 26,000 B in both records
		// would add 0.5, but it was empty before: the shorter queue counts.
		{telemetry.Record{Bytes: 208_000}, telemetry.Record{Bytes: 78_000, Queue: 26_000}, 90_347_500_000}, // 95.05 G x 0.95 + 50 M
		// Now it was not: 95.05 x 0.95 = 90.3475 G / (1.5 / 0.95) + 50 M.
		{telemetry.Record{Bytes: 208_000}, telemetry.Record{Bytes: 130_000, Queue: 26_000}, 57_270_083_333},
		// The fast hop again: load 1, its queue was empty before: x 0.95 + 50 M.
		{telemetry.Record{Bytes: 416_000, Queue: 52_000}, telemetry.Record{Bytes: 130_000, Queue: 0}, 54_456_579_166},
		// Its queue of 52,000 B is a quarter of what 400 Gbps carry in T: load 1.25.
		{telemetry.Record{Bytes: 624_000, Queue: 52_000}, telemetry.Record{Bytes: 130_000, Queue: 0}, 41_437_000_166},
	} {
		if got := ack(s.fast, s.slow); got != s.want {
			t.Errorf("ACK %d: rate %d, want %d", i, got, s.want)
		}
	}
}

// Records of another path, or too old for the clock, are stored but not compared.
func TestHPCCSkipsIncomparableRecords(t *testing.T) {
	for _, c := range []struct {
		name   string
		second telemetry.Record
		after  units.Time
		moves  bool
	}{
		{"the same path", telemetry.Record{Bytes: 1 << 20, Tag: 3}, 10 * units.Microsecond, true},
		{"another path", telemetry.Record{Bytes: 1 << 20, Tag: 4}, 10 * units.Microsecond, false},
		{"too old", telemetry.Record{Bytes: 1 << 20, Tag: 3}, 51 * units.Millisecond, false},
	} {
		for _, algorithm := range []string{"hpcc", "powertcp"} {
			ctl := build(t, algorithm, "paper")
			ctl.Start(0, rack())
			first := telemetry.Record{Rate: 100 * units.Gbps, Tag: 3}
			ctl.OnAck(0, &Ack{Seq: 1, Next: 2, Telemetry: telemetry.Exact.Append(nil, &first)})
			c.second.Time, c.second.Rate = c.after%telemetry.Exact.Span(), 100*units.Gbps
			ctl.OnAck(c.after, &Ack{Seq: 2, Next: 3, Telemetry: telemetry.Exact.Append(nil, &c.second)})
			if moved := ctl.Rate(0) != 100*units.Gbps; moved != c.moves {
				t.Errorf("%s, %s: rate %s", algorithm, c.name, ctl.Rate(0))
			}
			ctl.OnAck(c.after, &Ack{Seq: 3, Next: 4}) // without records: ignored
		}
	}
}

// Whatever switches write, rates stay between the lowest and the line rate, and windows are
// positive. Of two flows that differ in the last record only, the one with more load is not
// faster.
func TestTelemetryBounds(t *testing.T) {
	for _, name := range []string{"hpcc", "powertcp"} {
		for _, preset := range []string{"paper", "hpcc-sim"} {
			a, b := build(t, name, preset), build(t, name, preset)
			format := a.(Telemetry).NeedsTelemetry().Format
			trials.Check(t, func(t *rapid.T) {
				a.Start(0, rack())
				b.Start(0, rack())
				r := telemetry.Record{Rate: 100 * units.Gbps}
				seq := uint32(0)
				events := rapid.IntRange(1, 60).Draw(t, "events")
				for i := range events {
					r.Time += units.Time(rapid.Int64Range(0, 10_000).Draw(t, "ns")) * units.Nanosecond
					sent := units.Bytes(rapid.Int64Range(1000, 200_000).Draw(t, "sent"))
					r.Bytes += sent
					r.Queue = units.Bytes(rapid.Int64Range(0, 8_000_000).Draw(t, "queue"))
					seq += rapid.Uint32Range(0, 20).Draw(t, "acked")
					ack := Ack{Seq: seq, Next: seq + rapid.Uint32Range(1, 60).Draw(t, "flight"), Telemetry: format.Append(nil, &r)}
					a.OnAck(r.Time, &ack)
					if i == events-1 {
						r.Bytes += 100_000
						r.Queue += 100_000
						ack.Telemetry = format.Append(nil, &r)
					}
					b.OnAck(r.Time, &ack)
					if a.Rate(0) < 100*units.Mbps || a.Rate(0) > 100*units.Gbps || a.Window(0) < 1 || a.Window(0) > 52_000 {
						t.Fatalf("%s: rate %s, window %d", name, a.Rate(0), a.Window(0))
					}
				}
				if b.Rate(0) > a.Rate(0) {
					t.Fatalf("%s, %s: more load makes it faster: %s instead of %s", name, preset, b.Rate(0), a.Rate(0))
				}
			})
		}
	}
}

func TestTelemetryParams(t *testing.T) {
	for i, bad := range []func(*HPCCParams){
		func(p *HPCCParams) { p.Eta = 0 }, func(p *HPCCParams) { p.Eta = 1.1 }, func(p *HPCCParams) { p.MaxStage = -1 },
		func(p *HPCCParams) { p.AI = 0 }, func(p *HPCCParams) { p.MinRate = 0 }, func(p *HPCCParams) { p.Telemetry = "int" },
		func(p *HPCCParams) { p.MaxAge = units.Second }, func(p *HPCCParams) { p.MaxAge = -1 },
	} {
		p := hpccPresets.params("paper")
		bad(p)
		if _, err := newHPCC(p); err == nil {
			t.Errorf("hpcc, case %d: %+v is accepted", i, p)
		}
	}
	for i, bad := range []func(*PowerParams){
		func(p *PowerParams) { p.Gamma = 0 }, func(p *PowerParams) { p.Gamma = 2 }, func(p *PowerParams) { p.AI = 0 }, func(p *PowerParams) { p.Eta = 0 },
		func(p *PowerParams) { p.MinRate = 0 }, func(p *PowerParams) { p.MinCurrent = 2 }, func(p *PowerParams) { p.Smooth = "fast" },
		func(p *PowerParams) { p.FirstAck = "none" }, func(p *PowerParams) { p.Telemetry = "" }, func(p *PowerParams) { p.Counter = "rx" },
	} {
		p := powerPresets.params("paper")
		bad(p)
		if _, err := newPowerTCP(p); err == nil {
			t.Errorf("powertcp, case %d: %+v is accepted", i, p)
		}
	}
	for i, bad := range []func(*ThetaParams){
		func(p *ThetaParams) { p.Gamma = 0 }, func(p *ThetaParams) { p.MinCurrent = -1 }, func(p *ThetaParams) { p.Target = 0.9 },
		func(p *ThetaParams) { p.Clock = 0 }, func(p *ThetaParams) { p.Every = "x" }, func(p *ThetaParams) { p.FirstAck = "x" }, func(p *ThetaParams) { p.Smooth = "" },
	} {
		p := thetaPresets.params("paper")
		bad(p)
		if _, err := newTheta(p); err == nil {
			t.Errorf("theta-powertcp, case %d: %+v is accepted", i, p)
		}
	}
}
