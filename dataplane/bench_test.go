package dataplane_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
)

// bench is a switch with four ports at 100 Gbps, and its driver. A frame of 1000 B takes 80 ns.
// Host h is attached to port h.
type bench struct {
	t       *testing.T
	sw      *dataplane.Switch
	checks  *dataplane.Checks
	h       *handler
	now     units.Time
	txAt    [4]units.Time
	wakeAt  units.Time
	sent    [4][]uint32      // by port: sequence numbers of data frames, in order
	control [4][]sentControl // by port: control frames, in order
}

// sentControl is a control frame that the switch sent.
type sentControl struct {
	kind          packet.Kind
	enable, pause packet.ClassMask
	ext           int // extension words
}

func (b *bench) Transmit(port int, p *packet.Packet, ext packet.Ext, _ units.Time) {
	if p.Control() {
		c := sentControl{kind: p.Kind(), ext: len(ext)}
		if p.Kind() == packet.PFC {
			c.enable, c.pause, _ = p.PFC()
		}
		b.control[port] = append(b.control[port], c)
		return
	}
	b.sent[port] = append(b.sent[port], p.Seq)
}

func (b *bench) ArmTx(port int, at units.Time) { b.txAt[port] = at }
func (b *bench) ArmWake(at units.Time)         { b.wakeAt = at }

// handler is a deadlock handler whose verdicts are set by the test.
type handler struct {
	s         deadlock.Switch
	arriving  func(p *packet.Packet, out *int) deadlock.Verdict
	departing func(p *packet.Packet) deadlock.Verdict
	departed  []uint32
	blocked   []packet.ClassMask
	paused    []packet.ClassMask
	woken     []units.Time
	controls  int
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
	if h.departing == nil {
		return deadlock.Normal
	}
	return h.departing(p)
}

const class = 1

func newBench(t *testing.T) *bench {
	return newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc })
}

// newBenchWith returns a bench with a flow control per port and a spec edited by change.
func newBenchWith(t *testing.T, flow func(port int, pfc flowctl.Scheme) flowctl.Scheme, change ...func(*dataplane.SwitchSpec)) *bench {
	b := &bench{t: t, checks: dataplane.NewChecks("bench"), h: &handler{}, wakeAt: units.Never}
	for i := range b.txAt {
		b.txAt[i] = units.Never
	}
	scheme := must(flowctl.Schemes.Get("pfc"))
	pfc, err := scheme.New(&flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 4000}})
	if err != nil {
		t.Fatal(err)
	}
	static := must(buffer.Policies.Get("static"))
	table := route.NewTable(4)
	table.To = []route.Hops{table.Add(0), table.Add(1), table.Add(2), table.Add(3)}
	spec := &dataplane.SwitchSpec{
		Name: "bench", Node: 77,
		Policy: func(e buffer.Env) (buffer.Policy, error) { return static.New(&buffer.StaticParams{Limit: 8000}, e) },
		Scheduler: func(int) (sched.Scheduler, error) {
			return must(sched.Schedulers.Get("rr")).New(nil, sched.Env{Strict: 1})
		},
		Marker: func(int) (mark.Marker, error) { return must(mark.Markers.Get("none")).New(nil, 0) }, ECN: make([]packet.ClassMask, 4),
		Router: func(e route.Env) (route.Router, error) { return must(route.Routers.Get("static")).New(nil, e) }, Routes: table, Checks: b.checks,
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

// must returns v and panics on an error.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// data delivers a frame of 1000 B for host dst to port in now.
func (b *bench) data(in int, dst uint32, seq uint32) {
	p := packet.Packet{At: b.now, Seq: seq, To: dst, Size: 1000, Meta: packet.MakeMeta(packet.Data, class)}
	p.SetPort(in)
	b.sw.Arrive(b.now, in, &p, nil)
}

// pause makes the peer of a port pause or resume the class.
func (b *bench) pause(port int, on bool) {
	var p packet.Packet
	mask := packet.ClassMask(0)
	if on {
		mask = 1 << class
	}
	p.SetPFC(1<<class, mask, 100)
	b.sw.Arrive(b.now, port, &p, nil)
}

// run fires all timers up to a time.
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

// end drains the switch and checks the invariants.
func (b *bench) end() {
	b.t.Helper()
	b.run(b.now + units.Millisecond)
	b.sw.Finish(b.now)
	if b.checks.Broken != 0 {
		b.t.Errorf("invariant broken: %s", b.checks.First)
	}
	if n := b.sw.View().Stored(); n != 0 {
		b.t.Errorf("%d B are still stored", n)
	}
}

// wantSent checks which frames a port sent, and in which order.
func (b *bench) wantSent(port int, want ...uint32) {
	b.t.Helper()
	if len(b.sent[port]) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(b.sent[port], want) {
		b.t.Errorf("port %d sent %v, want %v", port, b.sent[port], want)
	}
}

// wait runs for a number of frame times of 80 ns.
func (b *bench) wait(frames units.Time) { b.run(b.now + frames*80*units.Nanosecond) }

// newPausedBench returns a bench whose egress port 2 is paused and stores frames 1, 2, 3 from
// port 0.
func newPausedBench(t *testing.T, change ...func(*dataplane.SwitchSpec)) *bench {
	b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc }, change...)
	b.pause(2, true)
	for seq := uint32(1); seq <= 3; seq++ {
		b.data(0, 2, seq)
	}
	b.wantSent(2)
	return b
}
