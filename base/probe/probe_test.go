package probe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// fake is a node of four ports whose buffer and state the test sets. Class 0 is control, 1
// and 2 are lossless, 3 is lossy, the others are unused.
type fake struct {
	ledger *mmu.Ledger
	off    [4]packet.ClassMask
	flows  []FlowState
	gauged []Gauges
}

// gauge exports two gauges per class: its port, and half its class.
type gauge struct{ class uint8 }

func (gauge) Gauges() []string { return []string{"port", "half"} }
func (g gauge) Measure(now units.Time, port int, class uint8, values []float64) bool {
	values[0], values[1] = float64(port), float64(class)/2
	return class == g.class
}

// total exports a gauge for the whole node.
type total float64

func (total) NodeGauges() []string { return []string{"total"} }
func (n total) MeasureNode(_ units.Time, values []float64) bool {
	values[0] = float64(n)
	return n > 0
}

func newFake() *fake {
	return &fake{ledger: mmu.NewLedger(mmu.Spec{
		Ports: 4, Size: 1 << 20, Shared: 1 << 20,
		Kinds: [mmu.Classes]mmu.Kind{mmu.Control, mmu.Lossless, mmu.Lossless, mmu.Lossy},
	})}
}

func (f *fake) Ports() int     { return 4 }
func (f *fake) View() mmu.View { return f.ledger.View() }
func (f *fake) Level(_ units.Time, port int, class uint8) (q, xoff units.Bytes) {
	return f.View().In(port, class, mmu.Shared), 5000
}
func (f *fake) Headroom(int) units.Bytes { return 20_000 }
func (f *fake) EachGauged(use func(Gauges)) {
	for _, g := range f.gauged {
		use(g)
	}
}
func (f *fake) LosslessClasses(int) packet.ClassMask { return 0b110 }
func (f *fake) BlockedClasses(int) packet.ClassMask  { return 0 }
func (f *fake) OffClasses(port int) packet.ClassMask { return f.off[port] }
func (f *fake) PauseDepth(int, uint8) int            { return 1 }
func (f *fake) Rate(int) units.Rate                  { return 100 * units.Gbps }
func (f *fake) EachFlow(_ units.Time, use func(FlowState)) {
	for _, s := range f.flows {
		use(s)
	}
}

// bench is a probe attached to a fake node.
type bench struct {
	*fake
	Watcher
	kind *Kind
	out  *Recorder
}

// place attaches a probe to some ports of a fake node.
func place(t *testing.T, name string, params any, ports ...int) *bench {
	t.Helper()
	e, err := Kinds.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	if params == nil && e.Params != nil {
		params = e.Params()
	}
	kind, err := e.New(params)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{fake: newFake(), kind: kind, out: &Recorder{Width: 1 + len(kind.Columns), To: units.Never}}
	p := &Target{Node: b.fake, Ports: make([]bool, 4), Out: b.out}
	for _, i := range ports {
		p.Ports[i] = true
	}
	b.Watcher = kind.Watch(p)
	return b
}

// rows returns the rows that the probe wrote, one per line.
func (b *bench) rows() string {
	var s strings.Builder
	for row := range slices.Chunk(b.out.Words, b.out.Width) {
		fmt.Fprintf(&s, "%d", row[0])
		for i, c := range b.kind.Columns {
			switch w := row[i+1]; {
			case w == Null:
				s.WriteString(" -")
			case c.Type == Text && c.Texts == nil:
				s.WriteString(" " + b.out.Text(w))
			case c.Type == Text:
				s.WriteString(" " + c.Texts[w])
			case c.Type == Float:
				fmt.Fprintf(&s, " %v", math.Float64frombits(uint64(w)))
			default:
				fmt.Fprintf(&s, " %d", w)
			}
		}
		s.WriteString("\n")
	}
	return s.String()
}

func (b *bench) want(t *testing.T, lines ...string) {
	t.Helper()
	if want := strings.Join(lines, "\n") + "\n"; b.rows() != want {
		t.Errorf("got\n%swant\n%s", b.rows(), want)
	}
}

func data(class uint8, in int) *packet.Packet {
	p := &packet.Packet{Flow: 7, Seq: 3, Size: 1000, Meta: packet.MakeMeta(packet.Data, class)}
	p.SetPort(in)
	return p
}

// store charges a frame of 1000 B and release releases it, like a switch.
func (b *bench) store(now units.Time, in, out int, class uint8, s mmu.Segment) {
	p := data(class, in)
	b.Arrive(now, in, p)
	b.ledger.Charge(&mmu.Arrival{In: in, Out: out, Bytes: 1000, Class: class, Kind: mmu.Lossless}, s)
	b.Queued(now, in, out, p, s)
}

func (b *bench) release(now units.Time, in, out int, class uint8) {
	b.ledger.Release(&mmu.Arrival{In: in, Out: out, Bytes: 1000, Class: class, Kind: mmu.Lossless})
	b.Depart(now, out, data(class, in))
}

// turn sets which queues of a port are OFF.
func (b *bench) turn(now units.Time, port int, to packet.ClassMask) {
	from := b.off[port]
	b.off[port] = to
	b.Off(now, port, from, to)
}

func TestPause(t *testing.T) {
	b := place(t, "pause", nil, 1)
	b.ledger.Charge(&mmu.Arrival{In: 1, Out: 2, Bytes: 1000, Class: 1, Kind: mmu.Lossless}, mmu.Headroom)
	b.ledger.Charge(&mmu.Arrival{In: 1, Out: 1, Bytes: 500, Class: 2, Kind: mmu.Lossless}, mmu.Shared)
	var f packet.Packet
	f.SetPFC(0b110, 0b010, 100)
	f.SetPauseDepth(1, 3)
	b.Depart(10, 1, &f)
	b.Depart(10, 0, &f) // not a selected port
	f.SetPFC(0b110, 0b110, 100)
	f.SetPauseDepth(1, 3)
	f.SetPauseDepth(2, 1)
	b.Depart(20, 1, &f) // class 1 again, class 2 for the first time
	f.SetPFC(0b100, 0b100, 0)
	b.Depart(30, 1, &f) // zero pause time: a RESUME
	f.SetPFC(0b010, 0b010, 7)
	f.SetPauseDepth(1, 2)
	b.Arrive(40, 1, &f)
	b.Arrive(50, 1, data(1, 1))
	b.want(t,
		"10 1 1 sent pause 100 headroom 3 1000 0",
		"10 1 2 sent resume 0 - 0 500 500",
		"20 1 1 sent refresh 100 - 3 1000 0",
		"20 1 2 sent pause 100 threshold 1 500 500",
		"30 1 2 sent resume 0 - 0 500 500",
		"40 1 1 received pause 7 - 2 1000 0",
	)
}

func TestOffIntervals(t *testing.T) {
	b := place(t, "off_intervals", nil, 1)
	b.store(0, 1, 2, 1, mmu.Shared)
	b.store(100, 1, 2, 1, mmu.Headroom)
	b.turn(100, 1, 0b010)               // 2000 B stored, 1000 B of them headroom
	b.store(200, 1, 2, 1, mmu.Headroom) // + 1000 B
	b.store(250, 1, 2, 2, mmu.Shared)   // another class
	b.store(250, 0, 2, 1, mmu.Shared)   // another port
	b.release(300, 1, 2, 1)
	b.Arrive(350, 1, data(1, 1)) // passes straight through: arrives and departs
	b.Depart(350, 3, data(1, 1))
	b.Arrive(360, 1, data(1, 1))
	b.Drop(360, 1, data(1, 1), Overflow)
	b.Drop(370, 1, data(1, 1), Corrupt) // never arrived
	b.release(400, 1, 2, 1)
	// The release that turns it ON reaches the buffer before the change is reported.
	b.ledger.Release(&mmu.Arrival{In: 1, Out: 2, Bytes: 1000, Class: 1, Kind: mmu.Lossless})
	b.turn(1100, 1, 0)
	b.Depart(1100, 2, data(1, 1))
	b.turn(1200, 1, 0b100)
	b.Finish(1200)
	// 1000 ps: 1 stored + 1 passing + 1 dropped = 3000 B arrived, 24 Tbps; 3 stored
	// + 1 passing = 4000 B departed, 32 Tbps.
	b.want(t,
		"1100 1 1 100 1 3000 4000 1000 24000000000000 32000000000000 2000 0 2000 - -",
		"1200 1 2 1200 0 0 0 0 - - 1000 1000 0 - -",
	)
}

// The first 200 ps of OFF intervals are also reported separately.
func TestHeadOfOffIntervals(t *testing.T) {
	b := place(t, "off_intervals", &OffParams{Head: 200}, 1)
	b.store(0, 1, 2, 1, mmu.Headroom)
	b.turn(0, 1, 0b010)
	b.store(100, 1, 2, 1, mmu.Headroom)
	b.store(200, 1, 2, 1, mmu.Headroom) // still in the first part
	b.release(200, 1, 2, 1)
	b.store(201, 1, 2, 1, mmu.Headroom)
	b.release(300, 1, 2, 1)
	b.turn(500, 1, 0)
	b.turn(600, 1, 0b010)
	b.turn(800, 1, 0) // as long as the first part, not longer
	// 3000 B in 500 ps: 48 Tbps, 2000 B: 32 Tbps. Head: 2000 B in 200 ps, 80 Tbps;
	// 1000 B, 40 Tbps.
	b.want(t,
		"500 1 1 0 1 3000 2000 0 48000000000000 32000000000000 1000 2000 3000 80000000000000 40000000000000",
		"800 1 1 600 1 0 0 0 0 0 2000 2000 2000 - -",
	)
}

func TestHeadroomPeaks(t *testing.T) {
	b := place(t, "headroom_peaks", nil, 0, 1)
	b.off[1], b.off[3] = 0b110, 0b010
	b.store(10, 1, 2, 1, mmu.Headroom)
	b.store(20, 1, 2, 1, mmu.Headroom) // 2000 B
	b.store(25, 1, 2, 1, mmu.Shared)
	b.off[3] = 0
	b.release(30, 1, 2, 1) // 1000 B: the maximum was at 20
	b.release(40, 1, 2, 1) // falls further: no maximum
	b.store(50, 1, 2, 1, mmu.Headroom)
	b.release(60, 1, 2, 1)
	b.release(70, 1, 2, 1) // from the shared segment
	b.store(80, 0, 2, 2, mmu.Headroom)
	b.store(90, 2, 2, 2, mmu.Headroom) // not a selected port
	b.release(95, 2, 2, 2)
	b.Finish(100)
	b.want(t,
		"30 1 1 20 2000 1 10000 2 3 2 8",
		"60 1 1 50 1000 2 10000 2 2 2 8",
		"100 0 2 80 1000 1 10000 0 2 2 8",
	)

	b = place(t, "headroom_peaks", &PeakParams{By: "port"}, 1)
	b.store(10, 1, 2, 1, mmu.Headroom)
	b.store(20, 1, 2, 2, mmu.Headroom)
	b.release(30, 1, 2, 1)
	b.want(t, "30 1 - 20 2000 1 20000 0 0 2 8")
}

func TestDropsMarksFlows(t *testing.T) {
	b := place(t, "drops", nil, 1)
	b.Drop(5, 1, data(3, 1), Overflow)
	b.Drop(5, 2, data(3, 2), Overflow)
	var f packet.Packet
	f.SetPFC(0b10, 0b10, 1)
	b.Drop(6, 1, &f, Corrupt)
	b.want(t, "5 1 3 overflow data 7 3 1000", "6 1 0 link pfc - - 64")

	b = place(t, "marks", nil, 2)
	b.store(1, 0, 2, 1, mmu.Shared)
	b.Marked(2, 2, data(1, 0))
	b.Marked(2, 1, data(1, 0))
	b.want(t, "2 2 1 1000 data 7 3 1000")

	b = place(t, "flows", nil, 0)
	b.Flow(1, 4, FlowStarts)
	b.Flow(9, 4, FlowAcked)
	b.want(t, "1 4 start", "9 4 acked")
}

// sample takes a sample at time 50: 1000 B from port 0 to 2 (class 1, shared), 2000 B from port 1
// to 2 (class 1, headroom), 1000 B from port 1 to 3 (class 2, shared).
func sample(t *testing.T, name string, params any, ports ...int) *bench {
	t.Helper()
	b := place(t, name, params, ports...)
	b.store(1, 0, 2, 1, mmu.Shared)
	b.store(2, 1, 2, 1, mmu.Headroom)
	b.store(3, 1, 2, 1, mmu.Headroom)
	b.store(4, 1, 3, 2, mmu.Shared)
	b.Sample(50)
	return b
}

func by(what ...string) *SampleParams { return &SampleParams{Every: 50 * units.Nanosecond, By: what} }

func TestOccupancy(t *testing.T) {
	sample(t, "occupancy", by(), 0, 1, 2, 3).want(t, "50 4000")
	sample(t, "occupancy", by("pool"), 0, 1).want(t, "50 shared 2000", "50 headroom 2000")
	sample(t, "occupancy", by("port", "class"), 0, 1, 2).want(t, "50 0 1 1000", "50 1 1 2000", "50 1 2 1000")
	sample(t, "occupancy", by("class", "pool"), 1).want(t, "50 1 headroom 2000", "50 2 shared 1000")
	zeros := by("class")
	zeros.Zeros = true // unused classes are still left out
	sample(t, "occupancy", zeros, 0).want(t, "50 0 0", "50 1 1000", "50 2 0", "50 3 0")
	sample(t, "occupancy", by(), 3).want(t, "50 0")
}

func TestQueues(t *testing.T) {
	sample(t, "queues", by(), 0, 1, 2, 3).want(t, "50 4000")
	sample(t, "queues", by("port"), 0, 2, 3).want(t, "50 2 3000", "50 3 1000")
	sample(t, "queues", by("port", "class"), 2, 3).want(t, "50 2 1 3000", "50 3 2 1000")
	sample(t, "queues", by("queue"), 2, 3).want(t, "50 2 1 3000", "50 3 2 1000")
	sample(t, "queues", by("class"), 2, 3).want(t, "50 1 3000", "50 2 1000")
}

func TestThresholds(t *testing.T) {
	b := place(t, "thresholds", &SampleParams{Every: 50 * units.Nanosecond}, 0, 1)
	b.store(1, 0, 2, 1, mmu.Shared)
	b.off[1] = 0b100
	b.Sample(50)
	b.want(t, "50 0 1 1000 5000 0", "50 1 2 0 5000 1")
}

// Policies and handlers are measured for the whole node and for every selected port and
// class, flow control for its own port if selected, congestion control once.
func TestGauges(t *testing.T) {
	all := []Gauges{
		{Of: Policy, Scheme: gauge{3}}, {Of: FlowControl, Scheme: gauge{1}, Port: 2}, {Of: FlowControl, Scheme: gauge{1}, Port: 3},
		{Of: CC, Scheme: gauge{0}, Flow: 9}, {Of: Deadlock, Whole: total(0)}, {Of: Deadlock, Scheme: gauge{3}, Whole: total(7)},
	}
	b := place(t, "gauges", &GaugeParams{Every: 50 * units.Nanosecond}, 0, 2)
	b.gauged = all
	b.Sample(50)
	b.want(t,
		"50 policy 0 3 - port 0", "50 policy 0 3 - half 1.5", "50 policy 2 3 - port 2", "50 policy 2 3 - half 1.5",
		"50 flow_control 2 1 - port 2", "50 flow_control 2 1 - half 0.5",
		"50 cc - - 9 port 0", "50 cc - - 9 half 0",
		"50 deadlock - - - total 7",
		"50 deadlock 0 3 - port 0", "50 deadlock 0 3 - half 1.5", "50 deadlock 2 3 - port 2", "50 deadlock 2 3 - half 1.5",
	)
	b = place(t, "gauges", &GaugeParams{Every: 50 * units.Nanosecond, Of: []string{"flow_control"}, Only: []string{"half"}}, 2)
	b.gauged = all
	b.Sample(50)
	b.want(t, "50 flow_control 2 1 - half 0.5")
}

func TestEvents(t *testing.T) {
	b := place(t, "events", nil, 1)
	b.Reported(10, &Event{Of: Deadlock, Name: "suspected", Port: 1, Class: 3, Flow: -1, Number: 17})
	b.Reported(20, &Event{Of: Deadlock, Name: "resolved", Port: -1, Class: -1, Flow: -1})
	b.Reported(30, &Event{Of: FlowControl, Name: "grant", Port: 2, Class: 3, Flow: -1, Number: 1})
	b.Reported(40, &Event{Of: CC, Name: "cut", Port: -1, Class: -1, Flow: 5, Number: 2})
	b.Reported(50, &Event{Of: Deadlock, Name: "suspected", Port: 1, Class: 0, Flow: -1})
	b.want(t, "10 deadlock 1 3 - suspected 17", "20 deadlock - - - resolved 0", "40 cc - - 5 cut 2", "50 deadlock 1 0 - suspected 0")
}

func TestRates(t *testing.T) {
	b := place(t, "rates", by("port"), 2, 3)
	b.Depart(10, 2, data(1, 0))
	b.Depart(20, 2, data(2, 0))
	var f packet.Packet
	f.SetPFC(0b10, 0b10, 1)
	b.Depart(30, 2, &f)
	b.Sample(50)
	b.Depart(60, 3, data(1, 0))
	b.Sample(100)
	// 2000 B in 50 ns are 320 Gbps.
	b.want(t, "50 2 2000 320000000000", "100 3 1000 160000000000")
}

func TestCC(t *testing.T) {
	b := place(t, "cc", &SampleParams{Every: 50 * units.Nanosecond}, 0)
	b.flows = []FlowState{{Flow: 2, Rate: units.Gbps, Window: 5000, InFlight: 1000}, {Flow: 4, Rate: units.Tbps, Window: 1 << 50}}
	b.Sample(50)
	b.want(t, "50 2 1000000000 5000 1000", "50 4 100000000000 - 0")
}

func TestParams(t *testing.T) {
	for _, c := range []struct {
		name   string
		params any
		want   string
	}{
		{"occupancy", by("switch"), `by[0] cannot be "switch" (allowed: port, class, queue, pool)`},
		{"occupancy", by("port", "port"), `by[1] repeats "port"`},
		{"queues", by("pool"), `by[0] cannot be "pool"; did you mean "port"? (allowed: port, class, queue)`},
		{"cc", by("port"), `by[0] cannot be "port" (expected an empty list: this probe does not group rows)`},
		{"rates", &SampleParams{}, "every is 0ps (expected 1ns to 2251s)"},
		{"headroom_peaks", &PeakParams{By: "switch"}, `by cannot be "switch" (allowed: queue, port)`},
	} {
		e, err := Kinds.Get(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.New(c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Every kind of probe ignores events that it does not watch: a fan of all kinds accepts
// every event.
func TestFan(t *testing.T) {
	var fan Fan
	for _, e := range Kinds.All() {
		b := place(t, e.Name, nil, 0, 1, 2, 3)
		fan = append(fan, b.Watcher)
	}
	fan.Attach(newFake())
	p := data(1, 0)
	fan.Arrive(1, 0, p)
	fan.Queued(1, 0, 1, p, mmu.Shared)
	fan.Marked(1, 1, p)
	fan.Depart(1, 1, p)
	fan.Drop(1, 0, p, NoRoute)
	fan.Blocked(1, 0, 0, 2)
	fan.Paused(1, 0, 0, 2)
	fan.Off(1, 0, 0, 2)
	fan.Flow(1, 0, FlowGap)
}

func TestNoAllocations(t *testing.T) {
	b := place(t, "pause", nil, 0, 1)
	b.out.Words = make([]int64, 0, 1<<20)
	var f packet.Packet
	f.SetPFC(0b110, 0b110, 9)
	if n := testing.AllocsPerRun(100, func() { b.Depart(1, 1, &f) }); n > 0 {
		t.Errorf("%.0f allocations per PFC frame", n)
	}
}
