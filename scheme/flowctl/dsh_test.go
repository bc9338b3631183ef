package flowctl

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// dshBench is a DSH receiver on a port of two lossless classes at 100 Gbps. PHI is 10,000 B, so D
// = 800 ns. T is always 6000 B, so X_poff = 12,000 B.
type dshBench struct {
	*fakePort
	*dshReceiver
	t *testing.T
}

func newDSHBench(t *testing.T, change func(*DSHParams)) *dshBench {
	t.Helper()
	spec := mmu.Spec{Ports: 2, Size: 100_000, Shared: 40_000}
	spec.Kinds[1], spec.Kinds[2] = mmu.Lossless, mmu.Lossless
	p := &fakePort{spec: link.Port{Rate: 100 * units.Gbps, Lossless: 0b110, PFC: link.PFC{Quanta: 1000}}, ledger: mmu.NewLedger(spec), wake: units.Never}
	static, err := buffer.Policies.Get("static")
	if err != nil {
		t.Fatal(err)
	}
	if p.policy, err = static.New(&buffer.StaticParams{Limit: 6000}, buffer.Env{View: p.View()}); err != nil {
		t.Fatal(err)
	}
	params := defaultDSH().(*DSHParams)
	params.Headroom = link.Headroom{Rule: link.RuleBytes, Bytes: 10_000}
	if change != nil {
		change(params)
	}
	s, err := newDSH(params)
	if err != nil {
		t.Fatal(err)
	}
	return &dshBench{p, s.Receiver(p).(*dshReceiver), t}
}

// arrive delivers a frame to the receiver, like a node.
func (b *dshBench) arrive(at units.Time, class uint8, bytes units.Bytes, segment mmu.Segment, paused packet.ClassMask) {
	b.t.Helper()
	a := &mmu.Arrival{Class: class, Bytes: bytes, Kind: mmu.Lossless, Out: 1}
	s, called := mmu.Shared, !(b.Shortcuts().Arrived != nil && b.Arrived(at*ns, class, bytes))
	if called {
		s = b.Place(at*ns, a)
	}
	if s != mmu.Drop {
		b.ledger.Charge(a, s)
		if called {
			b.Charged(at*ns, a, s)
		}
	}
	if s != segment || b.Paused() != paused {
		b.t.Errorf("%d ns, class %d: placed in %s, paused %03b; want %s, %03b", at, class, s, b.Paused(), segment, paused)
	}
}

// leave releases a frame.
func (b *dshBench) leave(at units.Time, class uint8, bytes units.Bytes, paused packet.ClassMask) {
	b.t.Helper()
	a := &mmu.Arrival{Class: class, Bytes: bytes, Kind: mmu.Lossless, Out: 1}
	b.ledger.Release(a)
	b.Released(at*ns, a)
	if b.Paused() != paused {
		b.t.Errorf("%d ns, class %d leaves: paused %03b, want %03b", at, class, b.Paused(), paused)
	}
}

// Levels are the thresholds and states of a queue and its port.
type Levels struct {
	Estimate, Tau     units.Bytes
	Queue, Port       units.Bytes // X_qoff, X_poff
	QueueOff, PortOff bool
}

// levels checks phi^, X_qoff and the states of a queue, and that the gauges match.
func (b *dshBench) levels(at units.Time, class uint8, want Levels) {
	b.t.Helper()
	t, tau := b.threshold(at*ns, class), b.tau(class)
	got := Levels{
		Estimate: b.estimate(class), Tau: tau, Queue: max(0, t-tau), Port: b.queues * t,
		QueueOff: b.off.Has(class), PortOff: b.portOff,
	}
	values := make([]float64, len(b.Gauges()))
	if b.Measure(at*ns, 0, class, values) {
		shown := Levels{
			Estimate: units.Bytes(values[0]), Tau: units.Bytes(values[1]), Queue: units.Bytes(values[3]), Port: units.Bytes(values[6]),
			QueueOff: values[9] == 1, PortOff: values[10] == 1,
		}
		in := b.View().Ingress(0, class)
		if shown != got || units.Bytes(values[2]) != in.Shared || units.Bytes(values[4]) != in.Headroom {
			b.t.Errorf("%d ns, class %d: gauges are %v, want %+v", at, class, values, got)
		}
	} else if in := b.View().Ingress(0, class); in.Total() > 0 || got.QueueOff || got.PortOff {
		b.t.Errorf("%d ns, class %d: there are no gauges", at, class)
	}
	if got != want {
		b.t.Errorf("%d ns, class %d: %+v, want %+v", at, class, got, want)
	}
}

// Steps 1 to 7 in order: the queue is paused phi^ below T, then the port by its insurance; each
// resumes by its own rule.
func TestDSHByHand(t *testing.T) {
	b := newDSHBench(t, nil)
	b.arrive(0, 1, 1000, mmu.Shared, 0)    // no gradient yet: phi^ 0, X_qoff 6000
	b.arrive(1000, 1, 1000, mmu.Shared, 0) // g 1 B/ns: phi^ 1000, X_qoff 5000, shared 2000
	b.levels(1000, 1, Levels{Estimate: 1000, Tau: 1000, Queue: 5000, Port: 12_000})
	b.arrive(2000, 1, 1000, mmu.Shared, 0)     // phi^ 1550 (see TestEstimatesByHand), X_qoff 4450, shared 3000
	b.arrive(4000, 1, 1000, mmu.Shared, 0)     // phi^ 1312.5: X_qoff 4687, shared 4000
	b.arrive(6000, 1, 1000, mmu.Shared, 0b010) // g 0.5: avg 0.464844, dev 0.234375: 1.402344 x 800 = 1122; shared 5000 > 4878
	b.levels(6000, 1, Levels{Estimate: 1122, Tau: 1122, Queue: 4878, Port: 12_000, QueueOff: true})
	wantFrames(t, "queue OFF", drainFrames(&b.PauseSender, 6000*ns), [2]packet.ClassMask{0b010, 0b010})

	b.arrive(6100, 2, 1000, mmu.Shared, 0b010) // class 2 has no gradient yet: X_qoff 6000
	b.arrive(6180, 2, 1000, mmu.Shared, 0b110) // g 12.5: phi^ 10,000, X_qoff max(0, -4000) = 0 < 2000
	b.levels(6180, 2, Levels{Estimate: 10_000, Tau: 10_000, Queue: 0, Port: 12_000, QueueOff: true})
	wantFrames(t, "both queues OFF", drainFrames(&b.PauseSender, 6180*ns), [2]packet.ClassMask{0b110, 0b110})
	for i := range units.Time(5) {
		b.arrive(6260+80*i, 2, 1000, mmu.Shared, 0b110) // in flight: the port stores 5000 + 2000 + 5000 = 12,000
	}
	b.arrive(6660, 2, 1000, mmu.Headroom, 0b110) // 12,000 + 1000 > 12,000: insurance, the port is OFF
	b.levels(6660, 2, Levels{Estimate: 10_000, Tau: 10_000, Queue: 0, Port: 12_000, QueueOff: true, PortOff: true})
	if frames := drainFrames(&b.PauseSender, 6660*ns); len(frames) != 0 {
		t.Errorf("the upstream already has these pauses, but gets frames %03b", frames)
	}

	// Class 1 falls to 4000 < 4878 and is ON, but the port is OFF.
	b.leave(7000, 1, 1000, 0b110)
	b.levels(7000, 1, Levels{Estimate: 1122, Tau: 1122, Queue: 4878, Port: 12_000, PortOff: true})
	// The insurance is released first: it is empty, and 11,000 B are below X_poff. The RESUME
	// enables class 1 only: queue 2 stores 7000 > 0.
	b.leave(7100, 2, 1000, 0b100)
	wantFrames(t, "port ON", drainFrames(&b.PauseSender, 7100*ns), [2]packet.ClassMask{0b110, 0b100})
	for i := range units.Time(6) {
		b.leave(7200+80*i, 2, 1000, 0b100) // never below X_qoff = 0
	}
	b.leave(7700, 2, 1000, 0) // empty: ON although X_qoff = 0 (step 5)
	wantFrames(t, "queue ON", drainFrames(&b.PauseSender, 7700*ns), [2]packet.ClassMask{0b100, 0})
}

// delta_q and delta_p: 2000 B each. A queue of 5000 B with X_qoff = 4878 resumes below 2878, the
// port below 10,000 B.
func TestDSHDeltas(t *testing.T) {
	b := newDSHBench(t, func(p *DSHParams) { p.DeltaQueue, p.DeltaPort = 2000, 2000 })
	for _, at := range []units.Time{0, 1000, 2000, 4000} {
		b.arrive(at, 1, 1000, mmu.Shared, 0)
	}
	b.arrive(6000, 1, 1000, mmu.Shared, 0b010)
	b.leave(7000, 1, 1000, 0b010) // 4000
	b.leave(7000, 1, 1000, 0b010) // 3000
	b.leave(7000, 1, 1000, 0)     // 2000 < 2878

	// Far apart, so that phi^ stays small: 1000 B in 100 us are g 0.01.
	b = newDSHBench(t, func(p *DSHParams) { p.DeltaPort = 2000 })
	for i := range units.Time(6) {
		b.arrive(100_000*i, 1, 1000, mmu.Shared, packet.ClassMask(i/5)<<1) // 6000 > 6000 - phi^: OFF at the sixth
		b.arrive(100_000*i+50_000, 2, 1000, mmu.Shared, packet.ClassMask(i/5)*0b110)
	}
	b.arrive(600_000, 1, 1000, mmu.Headroom, 0b110)
	b.leave(600_100, 1, 1000, 0b110) // insurance empty, 12,000 B
	b.leave(600_200, 1, 1000, 0b110) // queue 1 is ON, the port stores 11,000
	b.leave(600_300, 1, 1000, 0b110) // 10,000: not below
	b.leave(600_400, 1, 1000, 0b100) // 9000
	b.leave(600_500, 2, 1000, 0)     // queue 2: 5000 < 6000 - phi^
}

// The same with tables; phi^ as in TestEstimatesByHand where gradients are equal. A frame counts
// in the length of its queue at once: 1000 B in 1000 ns are g 1.
func TestDSHTablesByHand(t *testing.T) {
	b := newDSHBench(t, func(p *DSHParams) { p.Estimator = "table" })
	b.arrive(0, 1, 1000, mmu.Shared, 0)
	b.arrive(1000, 1, 1000, mmu.Shared, 0) // 4 steps of 312.5
	b.levels(1000, 1, Levels{Estimate: 1250, Tau: 1250, Queue: 4750, Port: 12_000})
	b.arrive(2000, 1, 1000, mmu.Shared, 0) // 5 steps
	b.levels(2000, 1, Levels{Estimate: 1562, Tau: 1562, Queue: 4438, Port: 12_000})
	b.arrive(4000, 1, 1000, mmu.Shared, 0) // g 0.5: 5 steps
	// g 0.5: 1000 B in 2000 ns are 8394; avg 7606 + (8394-7606)/4 = 7803, dev 4983 +
	// (788-4983)/4 = 3934; 7803 + 4 x 3934 = 23,539 are 4 steps. 5000 > 4750.
	b.arrive(6000, 1, 1000, mmu.Shared, 0b010)
	b.levels(6000, 1, Levels{Estimate: 1250, Tau: 1250, Queue: 4750, Port: 12_000, QueueOff: true})
	b.leave(7000, 1, 1000, 0) // 4000 < 4750
}

// Algorithm 4: after 10 ms of one queue only, tau is 0. A frame of another queue, or a window
// that is not over yet, brings phi^ back.
func TestDSHSingleQueue(t *testing.T) {
	for _, estimator := range []string{"ideal", "table"} {
		testDSHSingleQueue(newDSHBench(t, func(p *DSHParams) { p.Estimator = estimator }))
	}
}

func testDSHSingleQueue(b *dshBench) {
	b.t.Helper()
	const ms = 1_000_000 // ns
	b.arrive(0, 1, 100, mmu.Shared, 0)
	b.arrive(10*ms, 1, 100, mmu.Shared, 0)
	b.arrive(10*ms+8, 1, 100, mmu.Shared, 0) // g 12.5: phi^ 10,000, but tau 0
	b.levels(10*ms+8, 1, Levels{Estimate: 10_000, Queue: 6000, Port: 12_000})
	b.arrive(10*ms+16, 2, 100, mmu.Shared, 0) // another queue
	b.leave(10*ms+20, 1, 100, 0b010)          // 200 > max(0, 6000 - 10,000)
	b.arrive(10*ms+24, 1, 100, mmu.Shared, 0b010)
	b.arrive(20*ms+24, 1, 100, mmu.Shared, 0b010) // exactly 10 ms
	b.arrive(20*ms+25, 1, 100, mmu.Shared, 0)     // more than 10 ms
}

// shared_headroom: false. A queue takes T = 6000 B and no more, whatever its port stores. The
// rest goes to the insurance, which pauses the port.
func TestDSHWithoutSharedHeadroom(t *testing.T) {
	b := newDSHBench(t, func(p *DSHParams) { p.SharedHeadroom = false })
	for i := range units.Time(6) {
		b.arrive(80*i, 1, 1000, mmu.Shared, 0) // phi^ is 10,000, tau 0: 6000 B are not above X_qoff
	}
	b.arrive(480, 1, 1000, mmu.Headroom, 0b110)
	b.arrive(560, 2, 1000, mmu.Shared, 0b110)
	b.leave(600, 1, 1000, 0) // insurance empty, 7000 < 12,000; queue 1 was never OFF
}

// insurance: 0. Frames that the shared segment refuses are dropped, and pause the port.
func TestDSHWithoutInsurance(t *testing.T) {
	b := newDSHBench(t, func(p *DSHParams) { p.Insurance = Insurance{} })
	for i := range units.Time(6) {
		b.arrive(100_000*i, 1, 1000, mmu.Shared, packet.ClassMask(i/5)<<1)
		b.arrive(100_000*i+50_000, 2, 1000, mmu.Shared, packet.ClassMask(i/5)*0b110)
	}
	b.leave(550_000, 1, 1000, 0b100) // 5000 B each: below 6000 - phi^
	b.leave(550_000, 2, 1000, 0)
	b.arrive(600_000, 1, 2500, mmu.Drop, 0b110) // 10,000 + 2500 > 12,000
	b.leave(600_100, 1, 1000, 0)                // 9000 < 12,000
	for range 4 {
		b.leave(600_200, 1, 1000, 0)
	}
	for range 5 {
		b.leave(600_200, 2, 1000, 0)
	}
	b.arrive(700_000, 1, 12_500, mmu.Drop, 0) // the port is empty: nothing would turn it ON again
}

// port_level: false. Queues share the whole segment; only they are paused, and frames that do not
// fit are dropped.
func TestDSHWithoutPortLevel(t *testing.T) {
	b := newDSHBench(t, func(p *DSHParams) { p.Insurance, p.PortLevel = Insurance{}, false })
	for i := range units.Time(5) {
		b.arrive(100_000*i, 1, 1000, mmu.Shared, 0)
		b.arrive(100_000*i+50_000, 2, 1000, mmu.Shared, 0)
	}
	b.arrive(600_000, 1, 2500, mmu.Shared, 0b010) // 12,500 > X_poff = 12,000; 7500 > 6000
	b.arrive(700_000, 2, 100_000, mmu.Drop, 0b010)
	b.leave(800_000, 1, 2500, 0) // 5000 < 6000 - phi^
	if b.WholePort() {
		t.Error("the port is paused")
	}
	p := defaultDSH().(*DSHParams)
	p.PortLevel = false
	if s, err := newDSH(p); err != nil || s.Properties().Breaks != registry.Lossless {
		t.Errorf("without port level it still promises to lose nothing (%v)", err)
	}
}

// An insurance smaller than a frame is like no insurance.
func TestDSHWithTooLittleInsurance(t *testing.T) {
	b := newDSHBench(t, func(p *DSHParams) { p.Insurance = Insurance{Bytes: 100} })
	b.arrive(0, 1, 1000, mmu.Shared, 0)
	b.arrive(100_000, 2, 11_500, mmu.Drop, 0b110) // 1000 + 11,500 > 12,000
	b.leave(100_100, 1, 1000, 0)
	b.arrive(200_000, 2, 12_500, mmu.Drop, 0)
}

// The private segment is used first. It counts in the length of a queue, but is not compared with
// thresholds.
func TestDSHPrivate(t *testing.T) {
	spec := mmu.Spec{Ports: 2, Size: 100_000, Shared: 40_000, Private: 3000}
	spec.Kinds[1], spec.Kinds[2] = mmu.Lossless, mmu.Lossless
	b := newDSHBench(t, nil)
	b.ledger = mmu.NewLedger(spec)
	b.in, b.private = b.ledger.View().Port(b.Index()), 3000
	for i := range units.Time(3) {
		b.arrive(80*i, 1, 1000, mmu.Private, 0)
	}
	b.levels(240, 1, Levels{Estimate: 10_000, Tau: 10_000, Queue: 0, Port: 12_000}) // 0 B are not above 0
	b.arrive(240, 1, 1000, mmu.Shared, 0b010)
	b.leave(300, 1, 1000, 0) // shared first
}

// Bytes in the reserve of a deadlock handler keep queue and port OFF.
func TestDSHReserve(t *testing.T) {
	b := newDSHBench(t, nil)
	b.arrive(0, 1, 1000, mmu.Shared, 0)
	b.arrive(80, 1, 1000, mmu.Shared, 0b010)
	b.ledger.SetAside(500, mmu.Headroom)
	a := &mmu.Arrival{Class: 1, Bytes: 500, Kind: mmu.Lossless, Out: 1}
	b.ledger.Charge(a, mmu.Reserve)
	b.Charged(100*ns, a, mmu.Reserve)
	b.leave(200, 1, 500, 0b010) // the reserve
	b.leave(300, 1, 1000, 0b010)
	b.leave(400, 1, 1000, 0)
}

func TestDSHParams(t *testing.T) {
	for about, change := range map[string]func(*DSHParams){
		"delta_q is":       func(p *DSHParams) { p.DeltaQueue = -1 },
		"delta_p is":       func(p *DSHParams) { p.DeltaPort = -1 },
		"window_length is": func(p *DSHParams) { p.Window = -1 },
		"estimator is":     func(p *DSHParams) { p.Estimator = "perfect" },
		"w_g is 2/1 (":     func(p *DSHParams) { p.Gradient = units.Ratio{Num: 2, Den: 1} },
		"w_v is 2/1 (":     func(p *DSHParams) { p.Deviation = units.Ratio{Num: 2, Den: 1} },
		"powers of two":    func(p *DSHParams) { p.Estimator, p.K = "table", units.Ratio{Num: 3, Den: 1} },
	} {
		p := defaultDSH().(*DSHParams)
		change(p)
		if _, err := newDSH(p); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("got %v, want %q", err, about)
		}
	}
	for text, want := range map[string]string{"phi": "phi", "0": "0B", "0B": "0B", "60000B": "60000B", "half": "", "-1B": ""} {
		var i Insurance
		if err := i.UnmarshalText([]byte(text)); (err == nil) != (want != "") {
			t.Errorf("%q: %v", text, err)
		} else if got, _ := i.MarshalText(); err == nil && string(got) != want && i.Bytes != 60000 {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}

// DSH reserves PHI once per port (eq. 9), SIH once per queue (eq. 3): 60,000 B x 32 and 60,000 B
// x 32 x 7.
func TestReservations(t *testing.T) {
	port := &link.Port{Rate: 100 * units.Gbps, Lossless: 0b11111110}
	phi := link.Headroom{Rule: link.RuleBytes, Bytes: 60_000}
	dsh := defaultDSH().(*DSHParams)
	dsh.Headroom = phi
	for name, c := range map[string]struct {
		params any
		want   units.Bytes // reserved by 32 ports
	}{
		"pfc":            {&SIHParams{Headroom: phi}, 13_440_000}, // 12.8 MiB
		"adaptive":       {&AdaptiveParams{Headroom: phi, Rule: "exact"}, 13_440_000},
		"oversubscribed": {&OversubscribedParams{Headroom: phi, Ratio: units.Ratio{Num: 4, Den: 5}, Limit: "pool"}, 10_752_000}, // 0.8 x 13,440,000
		"dsh":            {dsh, 1_920_000},
	} {
		e, err := Schemes.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.New(c.params)
		if err != nil {
			t.Fatal(err)
		}
		if got := 32 * s.Reserve(port); got != c.want {
			t.Errorf("32 ports of %s reserve %d B, want %d", name, got, c.want)
		}
	}
}
