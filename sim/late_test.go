package sim_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scenario/build"
	"github.com/xoff-net/xoff/sim"
)

// This file drives data planes as a driver with a real clock does: timers fire late,
// and frames are handed over in bursts (the contract of dataplane.Driver).

// lateRun is such a driver of all nodes of a run, with one queue of events.
type lateRun struct {
	rand   *rand.Rand
	timers units.Time // a timer is up to so much late
	frames units.Time // a node takes frames every so often, all that have come by then
	now    units.Time
	events lateEvents
	serial uint64
	nodes  []*lateNode
	bursts int // frames that were handed over together with the one before them
}

type lateEvent struct {
	at     units.Time
	serial uint64 // order of those of the same time
	do     func()
}

type lateEvents []lateEvent

func (e lateEvents) Len() int      { return len(e) }
func (e lateEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e lateEvents) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e *lateEvents) Push(x any) { *e = append(*e, x.(lateEvent)) }
func (e *lateEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (r *lateRun) plan(at units.Time, do func()) {
	r.serial++
	heap.Push(&r.events, lateEvent{max(at, r.now), r.serial, do})
}

// timer plans a call that counts while nobody has armed the same timer again.
func (r *lateRun) timer(valid *uint64, at units.Time, do func()) {
	*valid++
	if at == units.Never {
		return
	}
	mine := *valid
	r.plan(at+units.Time(r.rand.Int64N(int64(r.timers)+1)), func() {
		if *valid == mine {
			do()
		}
	})
}

// lateNode is the driver of one node.
type lateNode struct {
	r                 *lateRun
	sw                *dataplane.Switch
	nic               *dataplane.NIC
	wires             []lateWire // by port
	tx                []uint64   // by port
	wake, pace, start uint64
	taken             units.Time // when frames were last handed over
}

type lateWire struct {
	to    *lateNode
	port  int
	delay units.Time
}

func (n *lateNode) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	w, f := n.wires[port], *p
	words := append(packet.Ext(nil), ext...)
	came, every := done+w.delay, max(1, n.r.frames)
	n.r.plan((came+every-1)/every*every, func() {
		if w.to.taken == n.r.now {
			n.r.bursts++
		}
		w.to.taken = n.r.now
		f.At = n.r.now
		if w.to.sw != nil {
			w.to.sw.Arrive(n.r.now, w.port, &f, words)
		} else {
			w.to.nic.Arrive(n.r.now, w.port, &f, words)
		}
	})
}

func (n *lateNode) ArmTx(port int, at units.Time) {
	n.r.timer(&n.tx[port], at, func() {
		if n.sw != nil {
			n.sw.TxDone(n.r.now, port)
		} else {
			n.nic.TxDone(n.r.now, port)
		}
	})
}

func (n *lateNode) ArmWake(at units.Time) {
	n.r.timer(&n.wake, at, func() {
		if n.sw != nil {
			n.sw.Wake(n.r.now)
		} else {
			n.nic.Wake(n.r.now)
		}
	})
}

func (n *lateNode) ArmPace(at units.Time) { n.r.timer(&n.pace, at, func() { n.nic.Pace(n.r.now) }) }
func (n *lateNode) ArmStart(at units.Time, _ uint32) {
	n.r.timer(&n.start, at, func() { n.nic.StartFlows(n.r.now) })
}

// late runs a scenario with timers and frames that are late by up to so much.
func late(t *testing.T, b *build.Built, seed uint64, timers, frames units.Time) *lateRun {
	t.Helper()
	r := &lateRun{rand: rand.New(rand.NewPCG(seed, 0)), timers: timers, frames: frames}
	for _, s := range b.Spec.Hosts {
		n := &lateNode{r: r, wires: make([]lateWire, 1), tx: make([]uint64, 1)}
		r.nodes = append(r.nodes, n)
		var err error
		if n.nic, err = dataplane.NewNIC(s, n); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range b.Spec.Switches {
		n := &lateNode{r: r, wires: make([]lateWire, len(s.Ports)), tx: make([]uint64, len(s.Ports))}
		r.nodes = append(r.nodes, n)
		var err error
		if n.sw, err = dataplane.NewSwitch(s, n); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range b.Spec.Cables {
		r.join(c.A, c.B, c.AtoB)
		r.join(c.B, c.A, c.BtoA)
	}
	for _, n := range r.nodes {
		if n.sw != nil {
			n.sw.Start(0)
		} else {
			n.nic.Start(0)
		}
	}
	for len(r.events) > 0 && r.now < b.Spec.Until {
		e := heap.Pop(&r.events).(lateEvent)
		r.now = e.at
		e.do()
	}
	for _, n := range r.nodes {
		if n.sw != nil {
			n.sw.Finish(r.now)
		}
	}
	return r
}

func (r *lateRun) join(from, to sim.End, delay units.Time) {
	r.nodes[from.Node].wires[from.Port] = lateWire{r.nodes[to.Node], to.Port, delay}
}

// count adds up a counter of all ports.
func (r *lateRun) count(of func(*dataplane.PortStats) uint64) uint64 {
	sum := uint64(0)
	for _, n := range r.nodes {
		if n.sw == nil {
			continue
		}
		for p := range n.wires {
			s := n.sw.PortStats(p, r.now)
			sum += of(&s)
		}
	}
	return sum
}

func losslessDrops(s *dataplane.PortStats) (n uint64) {
	for _, d := range s.Drops {
		n += uint64(d[probe.Lossless])
	}
	return n
}

func pausesOf(s *dataplane.PortStats) (n uint64) {
	for _, p := range s.Pauses {
		n += p
	}
	return n
}

// lateIncast is an incast over two switches at 100 Gbps, with pauses all the time. The
// shared segment is small beside the headroom.
const lateIncast = `
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1, 2], kind: lossless}}
switch:
  buffer: {size: %dB}
  policy: {name: static, limit: 20KB}
  flow_control: {name: %s, headroom: %dB}
hosts: {cc: {name: none}, reliability: {timeout: 100ms}}
workload:
  - {name: a, generator: incast, senders: 5, size: 200KB, to: host0, at: 0s, class: 1}
  - {name: b, generator: incast, senders: 3, size: 150KB, to: host5, at: 3us, class: 2}
  - {name: c, generator: poisson, sizes: 5KB, load: {share: 0.1, of: host_links}, class: {random: rdma}}
run: {arrivals: 100us, stop: {when: all_flows_done, at_most: 1s}}
`

// exactIncast is what a queue of it needs with a punctual driver: 2 us there and back at
// 12.5 B/ns, three frames of 1048 B and a PAUSE of 64 B.
const exactIncast = 25_000 + 3*1048 + 64

func buildLate(t *testing.T, flowControl string, headroom units.Bytes) *build.Built {
	t.Helper()
	size := 8*2*headroom + 500*units.KB // of eight ports, two classes
	cfg, err := build.Parse("late.yaml", fmt.Appendf(nil, lateIncast, int64(size), flowControl, int64(headroom)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := build.New(cfg, build.Options{Invariants: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := link.Exact(&b.Spec.Switches[0].Ports[0]); got != exactIncast {
		t.Fatalf("a queue needs %d B, the test thinks %d B", got, exactIncast)
	}
	return b
}

// TestLateTimers: whatever a driver is late by, all invariants hold and everything is
// delivered; with headroom for it nothing lossless is dropped, and with headroom for a
// punctual driver some is.
func TestLateTimers(t *testing.T) {
	ns, us := units.Nanosecond, units.Microsecond
	const perNs = 25 // bytes on a wire of 100 Gbps in 2 ns
	for _, scheme := range []string{"pfc", "sonic", "dsh"} {
		for _, c := range []struct {
			name           string
			timers, frames units.Time
			enough         bool
		}{
			{"punctual", 0, 0, true},
			{"200 ns late", 200 * ns, 200 * ns, true},
			{"timers 200 ns late", 200 * ns, 0, true},
			{"50 us late", 50 * us, 50 * us, true},
			{"timers 50 us late", 50 * us, 0, true},
			{"frames in bursts of 50 us", 0, 50 * us, true},
			// A wire that is reported free late is also a slower one: only bursts of frames
			// come at full rate.
			{"frames in bursts of 50 us, headroom for a punctual driver", 0, 50 * us, false},
		} {
			t.Run(scheme+", "+c.name, func(t *testing.T) {
				headroom := units.Bytes(exactIncast)
				if c.enough {
					// A PAUSE waits for a wire that is free late, it and the data come late.
					headroom += units.Bytes((c.timers+2*c.frames)/ns) * perNs / 2
				}
				drops := uint64(0)
				for seed := range uint64(4) {
					b := buildLate(t, scheme, headroom)
					r := late(t, b, seed, c.timers, c.frames)
					for _, k := range b.Checks {
						if k.Broken > 0 && (c.enough || r.count(losslessDrops) == 0) {
							t.Errorf("seed %d: %s", seed, k.First)
						}
					}
					for i := range b.Flows.Flow {
						if c.enough && !b.Flows.Done(i) {
							t.Errorf("seed %d: flow %d of %d is not done", seed, i, len(b.Flows.Flow))
							break
						}
					}
					drops += r.count(losslessDrops)
					if r.count(pausesOf) < 10 || c.frames > 0 && r.bursts < 100 {
						t.Errorf("seed %d: %d pauses, %d frames in bursts: the test says little", seed, r.count(pausesOf), r.bursts)
					}
				}
				if (drops == 0) != c.enough {
					t.Errorf("%d lossless frames dropped with %d B of headroom", drops, headroom)
				}
			})
		}
	}
}
