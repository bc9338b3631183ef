package dataplane_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
)

// bench is a switch of four ports at 100 Gbps, 1000 B buffered are 80 ns on the
// wire, and the driver that runs it by hand. Host h is behind port h.
type bench struct {
	t      *testing.T
	sw     *dataplane.Switch
	checks *dataplane.Checks
	h      *handler
	now    units.Time
	txAt   [4]units.Time
	wakeAt units.Time
	sent   [4][]uint32 // by port: numbers of data frames, in order
	told   [4][]sentControl
}

type sentControl struct {
	kind          packet.Kind
	enable, pause packet.ClassMask
	ext           int
}

func (b *bench) Transmit(port int, p *packet.Packet, ext packet.Ext, _ units.Time) {
	if p.Control() {
		c := sentControl{kind: p.Kind(), ext: len(ext)}
		if p.Kind() == packet.PFC {
			c.enable, c.pause, _ = p.PFC()
		}
		b.told[port] = append(b.told[port], c)
		return
	}
	b.sent[port] = append(b.sent[port], p.Seq)
}

func (b *bench) ArmTx(port int, at units.Time) { b.txAt[port] = at }
func (b *bench) ArmWake(at units.Time)         { b.wakeAt = at }

// handler is a hook whose answers the test sets.
type handler struct {
	s        deadlock.Switch
	arriving func(p *packet.Packet, out *int) deadlock.Verdict
	leaving  func(p *packet.Packet) deadlock.Verdict
	departed []uint32
	blocked  []packet.ClassMask
	paused   []packet.ClassMask
	woken    []units.Time
	controls int
}

func (h *handler) NeedsPairs() {}
func (h *handler) Gated(_ units.Time, _ int, _, to packet.ClassMask) {
	h.blocked = append(h.blocked, to)
}
func (h *handler) Paused(_ units.Time, _ int, _, to packet.ClassMask) {
	h.paused = append(h.paused, to)
}
func (h *handler) Wake(now units.Time, _ int) { h.woken = append(h.woken, now) }
func (h *handler) Departed(_ units.Time, _ int, p *packet.Packet) {
	h.departed = append(h.departed, p.Seq)
}
func (h *handler) Control(units.Time, int, *packet.Packet, packet.Ext) {
	h.controls++
}

func (h *handler) OnPFC(_ units.Time, _ int, _ *packet.Packet, ext packet.Ext) packet.Ext {
	return append(ext, 42)
}

func (h *handler) Arriving(_ units.Time, p *packet.Packet, out *int) deadlock.Verdict {
	if h.arriving == nil {
		return deadlock.Normal
	}
	return h.arriving(p, out)
}

func (h *handler) Departing(_ units.Time, _ int, p *packet.Packet) deadlock.Verdict {
	if h.leaving == nil {
		return deadlock.Normal
	}
	return h.leaving(p)
}

const class = 1

func newBench(t *testing.T) *bench {
	return newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc })
}

// newBenchWith lets each port have a scheme of its own, and more be changed.
func newBenchWith(t *testing.T, flow func(port int, pfc flowctl.Scheme) flowctl.Scheme, change ...func(*dataplane.SwitchSpec)) *bench {
	b := &bench{t: t, checks: dataplane.NewChecks("bench"), h: &handler{}, wakeAt: units.Never}
	for i := range b.txAt {
		b.txAt[i] = units.Never
	}
	scheme := get(flowctl.Schemes.Get("pfc"))
	pfc, err := scheme.New(&flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 4000}})
	if err != nil {
		t.Fatal(err)
	}
	static := get(buffer.Policies.Get("static"))
	table := route.NewTable(4)
	table.To = []uint16{table.Add(0), table.Add(1), table.Add(2), table.Add(3)}
	spec := &dataplane.SwitchSpec{
		Name: "bench", Node: 77,
		Policy: func(e buffer.Env) (buffer.Policy, error) { return static.New(&buffer.StaticParams{Limit: 8000}, e) },
		Scheduler: func(int) (sched.Scheduler, error) {
			return get(sched.Schedulers.Get("rr")).New(nil, sched.Env{Strict: 1})
		},
		Marker: func(int) (mark.Marker, error) { return get(mark.Markers.Get("none")).New(nil, 0) }, ECN: make([]packet.ClassMask, 4),
		Router: func(e route.Env) (route.Router, error) { return get(route.Routers.Get("static")).New(nil, e) }, Routes: table, Checks: b.checks,
		Deadlock: func(s deadlock.Switch) (deadlock.Handler, error) { b.h.s = s; return b.h, nil },
	}
	spec.Buffer.Kinds[0], spec.Buffer.Kinds[class] = mmu.Control, mmu.Lossless
	for port := range 4 {
		spec.Ports = append(spec.Ports, link.Port{Rate: 100 * units.Gbps, MTU: 1000, Lossless: 1 << class, PFC: link.PFC{Quanta: 100, Indefinite: true}})
		spec.Flow = append(spec.Flow, flow(port, pfc))
	}
	spec.Buffer.Size = 4*4000 + 20000 // headroom of four queues, 20,000 B shared
	for _, f := range change {
		f(spec)
	}
	if b.sw, err = dataplane.NewSwitch(spec, b); err != nil {
		t.Fatal(err)
	}
	b.sw.Start(0)
	return b
}

func get[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// data lets a frame of 1000 B for a host arrive now.
func (b *bench) data(in int, dst uint16, seq uint32) {
	p := packet.Packet{At: b.now, Seq: seq, Dst: dst, Size: 1000, Port: uint16(in), Meta: packet.MakeMeta(packet.Data, class)}
	b.sw.Arrive(b.now, in, &p, nil)
}

// pause lets the peer of a port pause or resume the class.
func (b *bench) pause(port int, on bool) {
	var p packet.Packet
	mask := packet.ClassMask(0)
	if on {
		mask = 1 << class
	}
	p.SetPFC(1<<class, mask, 100)
	b.sw.Arrive(b.now, port, &p, nil)
}

// run lets all timers fire until then.
func (b *bench) run(until units.Time) {
	for {
		port, at := -1, min(b.wakeAt, until+1)
		for i, t := range b.txAt {
			if t < at {
				port, at = i, t
			}
		}
		if at > until {
			b.now = until
			return
		}
		b.now = at
		if port < 0 {
			b.wakeAt = units.Never
			b.sw.Wake(at)
		} else {
			b.txAt[port] = units.Never
			b.sw.TxDone(at, port)
		}
	}
}

// end drains everything and looks at the invariants.
func (b *bench) end() {
	b.t.Helper()
	b.run(b.now + units.Millisecond)
	b.sw.Finish(b.now)
	if b.checks.Broken != 0 {
		b.t.Errorf("invariant broken: %s", b.checks.First)
	}
	if n := b.sw.View().Stored(); n != 0 {
		b.t.Errorf("%d B are left", n)
	}
}

// order checks which frames left by a port, and in which order.
func (b *bench) order(port int, want ...uint32) {
	b.t.Helper()
	if len(b.sent[port]) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(b.sent[port], want) {
		b.t.Errorf("port %d sent %v, want %v", port, b.sent[port], want)
	}
}

// wait runs for so many frame times of 80 ns.
func (b *bench) wait(frames units.Time) { b.run(b.now + frames*80*units.Nanosecond) }

// three puts frames 1, 2, 3 from port 0 into the paused egress 2.
func three(t *testing.T) *bench {
	b := newBench(t)
	b.pause(2, true)
	for seq := uint32(1); seq <= 3; seq++ {
		b.data(0, 2, seq)
	}
	b.order(2)
	return b
}

func TestHandlerSees(t *testing.T) {
	b := three(t)
	s := b.h.s
	if s.Node() != 77 || s.Ports() != 4 || s.Rate(1) != 100*units.Gbps || s.Rand() == nil {
		t.Errorf("node %d, %d ports, rate %s", s.Node(), s.Ports(), s.Rate(1))
	}
	if s.GatedClasses(2) != 1<<class || s.Head(2, class).Seq != 1 || s.Head(1, class) != nil {
		t.Error("masks or heads are wrong")
	}
	if p := s.View().Pair(0, 2, class); p.Bytes != 3000 || p.Packets != 3 {
		t.Errorf("pair %+v, want 3000 B in 3 packets", p)
	}
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq) // the ninth goes to headroom: 9 x 1000 > 8000
	}
	if s.PausedClasses(0) != 1<<class || !reflect.DeepEqual(b.h.paused, []packet.ClassMask{1 << class}) {
		t.Errorf("paused %08b, told %v", s.PausedClasses(0), b.h.paused)
	}
	if want := []sentControl{{packet.PFC, 1 << class, 1 << class, 1}}; !reflect.DeepEqual(b.told[0], want) {
		t.Errorf("port 0 said %+v, want %+v with one word of header", b.told[0], want)
	}
	b.pause(2, false)
	b.end()
	b.order(2, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	if want := []packet.ClassMask{1 << class, 0}; !reflect.DeepEqual(b.h.blocked, want) {
		t.Errorf("blocked %v, want %v", b.h.blocked, want)
	}
}

func TestWakeAndSend(t *testing.T) {
	b := newBench(t)
	b.h.s.WakeAt(0, 5*units.Microsecond)
	f := packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Loop, 0)}
	b.h.s.Send(0, 3, &f, packet.Ext{1, 2, 3})
	b.data(0, 3, 1) // any event lets the frame out, before the data
	b.run(10 * units.Microsecond)
	if want := []sentControl{{kind: packet.Loop, ext: 3}}; !reflect.DeepEqual(b.told[3], want) {
		t.Errorf("port 3 said %+v, want %+v", b.told[3], want)
	}
	b.sw.Arrive(b.now, 3, &f, packet.Ext{1})
	if b.h.controls != 1 {
		t.Errorf("%d loop frames reached the handler", b.h.controls)
	}
	b.end()
	b.order(3, 1)
}

// A budget of 2500 B covers two frames of 1000 B and not a third.
func TestForcedSendStaysWithinBudget(t *testing.T) {
	b := three(t)
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, 2500)
	b.wait(10)
	b.order(2) // nothing leaves inside a handler's call; the next event serves it
	b.data(0, 1, 9)
	b.wait(10)
	b.order(2, 1, 2)
	if n := b.sw.PortStats(2, b.now).Forced; n != 2 {
		t.Errorf("%d frames forced, want 2", n)
	}
	b.pause(2, false)
	if n := len(b.h.blocked); n != 2 || b.h.blocked[1] != 0 {
		t.Errorf("the RESUME of a forced class is not told: %v", b.h.blocked)
	}
	b.end()
	b.order(2, 1, 2, 3)
}

// 500 B are left of 2500 B after two frames of 1000 B, too little for the third: the queue is
// held by its peer again, and the search for deadlock must not take it for the handler's.
func TestShortBudgetIsHeld(t *testing.T) {
	b := three(t)
	held := func() int { return len(b.sw.BlockedQueues(b.now, nil)) }
	if held() != 1 {
		t.Fatalf("%d queues are held by a pause, want 1", held())
	}
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, 2500)
	if held() != 0 {
		t.Errorf("%d queues are held with a budget, want none", held())
	}
	b.data(0, 1, 9)
	b.wait(10)
	if held() != 1 {
		t.Errorf("%d queues are held with a rest of 500 B, want 1", held())
	}
	b.pause(2, false)
	b.end()
	b.order(2, 1, 2, 3)
}

// An opened class does not pass frames straight through beyond its budget.
func TestForcedSendStraightThrough(t *testing.T) {
	b := newBench(t)
	b.pause(2, true)
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, 1000)
	b.data(0, 2, 1)
	b.wait(2)
	b.data(0, 2, 2)
	b.wait(2)
	b.order(2, 1)
	if n := b.sw.PortStats(2, b.now).Forced; n != 1 {
		t.Errorf("%d frames forced, want 1", n)
	}
	b.pause(2, false)
	b.end()
	b.order(2, 1, 2)
}

func TestShutAndObey(t *testing.T) {
	b := newBench(t)
	b.h.s.SetGate(b.now, 1, class, deadlock.Shut, 0)
	b.data(0, 1, 1)
	b.wait(5)
	b.order(1)
	b.h.s.SetGate(b.now, 1, class, deadlock.Obey, 0)
	b.data(0, 3, 2)
	b.end()
	b.order(1, 1)
}

func TestInsertHead(t *testing.T) {
	b := three(t)
	p := packet.Packet{Seq: 100, Dst: 2, Size: 500, Meta: packet.MakeMeta(packet.Data, class)}
	if !b.h.s.InsertHead(b.now, 3, 2, &p) {
		t.Fatal("no room")
	}
	if q := b.sw.View().Ingress(3, class); q.Shared != 500 || q.Reserve != 0 {
		t.Errorf("ingress 3 holds %+v, want 500 B shared", q)
	}
	b.h.s.SetAside(600, mmu.Shared)
	p.Seq = 101
	b.h.s.InsertHead(b.now, 3, 2, &p)
	if q := b.sw.View().Ingress(3, class); q.Reserve != 500 || b.sw.View().Reserved() != 100 {
		t.Errorf("ingress 3 holds %+v with %d B set aside, want 500 B of the reserve and 100 B", q, b.sw.View().Reserved())
	}
	b.h.s.ResizeShared(3500) // what is stored there
	big := packet.Packet{Seq: 102, Dst: 2, Size: 1000, Meta: packet.MakeMeta(packet.Data, class)}
	if b.h.s.InsertHead(b.now, 3, 2, &big) {
		t.Error("a frame fits where there is no room")
	}
	b.pause(2, false)
	b.end()
	b.order(2, 101, 100, 1, 2, 3)
}

func TestAsideAndSplice(t *testing.T) {
	b := three(t)
	b.h.arriving = func(*packet.Packet, *int) deadlock.Verdict { return deadlock.Aside }
	b.h.s.ArmIngress(1, 1<<class)
	b.data(1, 2, 11)
	b.data(0, 2, 4)
	b.data(1, 2, 12)
	if e := b.sw.View().Egress(2, class); e != 6000 {
		t.Errorf("the egress counts %d B, want 6000 with those aside", e)
	}
	b.pause(2, false)
	b.wait(10)
	b.order(2, 1, 2, 3, 4)
	b.h.s.Splice(b.now, 2, class)
	b.h.s.Splice(b.now, 2, class) // nothing left: no harm
	b.data(0, 3, 5)
	b.end()
	b.order(2, 1, 2, 3, 4, 11, 12)
}

func TestInLoopAndDropOnArrival(t *testing.T) {
	b := three(t)
	if !b.h.s.SetAside(1500, mmu.Shared) {
		t.Fatal("no room")
	}
	b.h.s.ArmIngress(1, 1<<class)
	b.h.arriving = func(p *packet.Packet, out *int) deadlock.Verdict {
		if p.Seq == 13 {
			return deadlock.DropIt
		}
		*out = 2
		p.Flags |= packet.Marked
		return deadlock.InLoop
	}
	b.data(1, 3, 11) // 1000 of 1500 B of the reserve, led to port 2
	b.data(1, 3, 12) // 500 B are too few: the usual way
	b.data(1, 3, 13)
	if q := b.sw.View().Ingress(1, class); q.Reserve != 1000 || q.Shared != 1000 {
		t.Errorf("ingress 1 holds %+v, want 1000 B each of reserve and shared", q)
	}
	if n := b.sw.PortStats(1, b.now).Drops[class][probe.Handler]; n != 1 {
		t.Errorf("%d frames dropped by the handler, want 1", n)
	}
	b.h.s.GiveBack(500)
	if v := b.sw.View(); v.Reserved() != 0 || v.SharedSize() != 19000 {
		t.Errorf("%d B set aside, shared segment %d B; want 0 and 20,000 - 1000 in use", v.Reserved(), v.SharedSize())
	}
	b.pause(2, false)
	b.end()
	b.order(2, 1, 2, 3, 11, 12)
	if n := b.sw.View().SharedSize(); n != 20000 {
		t.Errorf("the shared segment ends with %d B, want 20,000", n)
	}
}

func TestHoldOffAndDropOnDeparture(t *testing.T) {
	b := three(t)
	b.h.s.ArmEgress(2, 1<<class)
	hold := true
	b.h.leaving = func(p *packet.Packet) deadlock.Verdict {
		switch {
		case p.Seq == 2:
			return deadlock.DropIt
		case hold:
			return deadlock.HoldOff
		}
		return deadlock.Normal
	}
	b.pause(2, false)
	b.wait(5)
	b.order(2)
	hold = false
	b.h.s.SetGate(b.now, 2, class, deadlock.Obey, 0) // serve it again
	b.data(0, 1, 9)
	b.end()
	b.order(2, 1, 3)
	if !reflect.DeepEqual(b.h.departed, []uint32{1, 3}) {
		t.Errorf("departed %v, want 1 and 3", b.h.departed)
	}
}

func TestDropWhereAndRequeue(t *testing.T) {
	b := three(t)
	b.data(0, 2, 4)
	odd := func(p *packet.Packet) bool { return p.Seq%2 == 1 }
	if n := b.h.s.DropWhere(b.now, 2, class, odd); n != 2 {
		t.Errorf("%d dropped, want 2", n)
	}
	if e := b.sw.View().Egress(2, class); e != 2000 {
		t.Errorf("%d B wait, want 2000", e)
	}
	all := func(*packet.Packet) bool { return true }
	if n := b.h.s.Requeue(b.now, 2, class, 2, all); n != 0 {
		t.Errorf("%d frames moved to where they are", n)
	}
	if n := b.h.s.Requeue(b.now, 2, class, 3, all); n != 2 {
		t.Errorf("%d moved, want 2", n)
	}
	if v := b.sw.View(); v.Egress(3, class) != 2000 || v.Pair(0, 3, class).Packets != 2 || v.Pair(0, 2, class).Packets != 0 {
		t.Error("the books do not follow the frames")
	}
	b.data(1, 1, 9)
	b.end()
	b.order(2)
	b.order(3, 2, 4)
}

func TestSetRoute(t *testing.T) {
	b := newBench(t)
	b.h.s.SetRoute(2, 3)
	b.data(0, 2, 1)
	b.wait(2)
	b.h.s.SetRoute(2, -1)
	b.data(0, 2, 2)
	b.end()
	b.order(3, 1)
	b.order(2, 2)
}

// Nine frames: 8000 B shared, 1000 B headroom. The first departure gives back
// headroom by default, shared under SharedFirst.
func TestSetOrder(t *testing.T) {
	for _, c := range []struct {
		order            mmu.Order
		shared, headroom units.Bytes
	}{{mmu.HeadroomFirst, 8000, 0}, {mmu.SharedFirst, 7000, 1000}} {
		b := newBench(t)
		b.h.s.SetOrder(0, class, c.order)
		b.pause(2, true)
		for seq := uint32(1); seq <= 9; seq++ {
			b.data(0, 2, seq)
		}
		b.pause(2, false)
		if q := b.sw.View().Ingress(0, class); q.Shared != c.shared || q.Headroom != c.headroom {
			t.Errorf("order %d leaves %+v, want %d B shared and %d B headroom", c.order, q, c.shared, c.headroom)
		}
		b.end()
	}
}

func TestHoldResume(t *testing.T) {
	b := three(t)
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq)
	}
	b.h.s.HoldResume(b.now, 0, 1<<class)
	b.pause(2, false)
	b.wait(20)
	if n := len(b.told[0]); n != 1 {
		t.Errorf("port 0 said %+v, want the PAUSE only", b.told[0])
	}
	if got := b.h.paused; len(got) != 2 || got[1] != 0 {
		t.Errorf("the handler was told %v, want the withdrawal too", got)
	}
	b.h.s.HoldResume(b.now, 0, 0)
	b.data(1, 3, 20)
	if n := len(b.told[0]); n != 2 || b.told[0][1].pause != 0 || b.told[0][1].enable != 1<<class {
		t.Errorf("port 0 said %+v, want PAUSE and RESUME", b.told[0])
	}
	b.end()
}

// A pause of 100 quanta lasts 100 x 512 bit / 100 Gbps = 512 ns. While its RESUME is held it
// must be repeated, although the receiver has let it go.
func TestHeldPauseDoesNotExpire(t *testing.T) {
	timed := func(s *dataplane.SwitchSpec) {
		for i := range s.Ports {
			s.Ports[i].PFC.Indefinite = false
		}
	}
	b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc }, timed)
	b.pause(2, true)
	for seq := uint32(1); seq <= 9; seq++ {
		b.data(0, 2, seq) // the ninth pauses
	}
	b.h.s.HoldResume(b.now, 0, 1<<class)
	b.pause(2, false)
	for window := range 20 {
		before := len(b.told[0])
		b.wait(6) // 480 ns
		again := b.told[0][before:]
		if len(again) == 0 {
			t.Fatalf("no pause in window %d; it has expired", window)
		}
		for _, f := range again {
			if f.pause != 1<<class || f.enable != 1<<class {
				t.Errorf("window %d: %+v, want the pause again", window, f)
			}
		}
	}
	if n := len(b.told[0]); n > 41 { // every 256 ns in 9,600 ns: 38, and the first
		t.Errorf("%d frames", n)
	}
	before := len(b.told[0])
	b.h.s.HoldResume(b.now, 0, 0)
	b.data(1, 3, 20)
	b.wait(20)
	if again := b.told[0][before:]; len(again) != 1 || again[0].pause != 0 || again[0].enable != 1<<class {
		t.Errorf("after the hold port 0 said %+v, want a RESUME and no more", again)
	}
	b.end()
}

// A queue whose headroom was lent out as reserve stays OFF until that is free.
func TestReserveKeepsQueueOff(t *testing.T) {
	b := three(t)
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq)
	}
	b.h.s.SetAside(1000, mmu.Headroom)
	b.h.s.ArmIngress(0, 1<<class)
	b.h.arriving = func(*packet.Packet, *int) deadlock.Verdict { return deadlock.InLoop }
	b.data(0, 2, 10)
	b.pause(2, false) // frame 1 leaves at once and pays from the reserve
	if q := b.sw.View().Ingress(0, class); q.Reserve != 0 || q.Headroom != 1000 || b.h.s.PausedClasses(0) == 0 {
		t.Errorf("after one departure: %+v, paused %08b", q, b.h.s.PausedClasses(0))
	}
	b.wait(1) // frame 2 pays from the headroom, 8000 B are not below 8000 B
	b.wait(1)
	if b.h.s.PausedClasses(0) != 0 {
		t.Error("still OFF with 7000 B of 8000 B")
	}
	b.end()
}
