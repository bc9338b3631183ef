package cc

import (
	"testing"

	"github.com/xoff-net/xoff/telemetry"
	"github.com/xoff-net/xoff/units"
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

// rack is a flow on a path of 4.16 us at 100 Gbps: 52,000 B in a round trip.
func rack() *Flow {
	return &Flow{Line: 100 * units.Gbps, MTU: 1090, MSS: 1000, BaseRTT: 4160 * units.Nanosecond}
}

// recordStep is an ACK with the record of one hop of 100 Gbps, and what the
// control makes of it.
type recordStep struct {
	seq, next uint32
	ns        units.Time  // of the record
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
