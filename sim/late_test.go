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
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// This file drives data planes like a driver with a real clock: timers fire late, and
// frames are delivered in bursts, as dataplane.Driver permits.

// lateRun drives all nodes of a run with one event queue.
type lateRun struct {
	// late returns how late a timer of a node is: the transmission timer of a port, or
	// another timer if port is -1.
	late   func(n *lateNode, port int) units.Time
	frames units.Time // interval at which a node takes all frames that have arrived
	now    units.Time
	events lateEvents
	serial uint64
	nodes  []*lateNode
	bursts int // frames delivered together with the previous one
}

type lateEvent struct {
	at     units.Time
	serial uint64 // breaks ties
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

// timer schedules a call, which is skipped if the same timer is armed again.
func (n *lateNode) timer(valid *uint64, port int, at units.Time, do func()) {
	*valid++
	if at == units.Never {
		return
	}
	mine := *valid
	n.r.plan(at+n.r.late(n, port), func() {
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
	taken             units.Time // when frames were last delivered
}

type lateWire struct {
	to    *lateNode
	port  int
	delay units.Time
}

func (n *lateNode) Transmit(port int, p *packet.Packet, ext packet.Ext, done units.Time) {
	w, f := n.wires[port], *p
	words := append(packet.Ext(nil), ext...)
	arrived, every := done+w.delay, max(1, n.r.frames)
	n.r.plan((arrived+every-1)/every*every, func() {
		if w.to.taken == n.r.now {
			n.r.bursts++
		}
		w.to.taken = n.r.now
		f.At = n.r.now
		f.SetPort(w.port)
		if w.to.sw != nil {
			w.to.sw.Arrive(n.r.now, w.port, &f, words)
		} else {
			w.to.nic.Arrive(n.r.now, w.port, &f, words)
		}
	})
}

func (n *lateNode) ArmTx(port int, at units.Time) {
	n.timer(&n.tx[port], port, at, func() {
		if n.sw != nil {
			n.sw.TxDone(n.r.now, port)
		} else {
			n.nic.TxDone(n.r.now, port)
		}
	})
}

func (n *lateNode) ArmWake(at units.Time) {
	n.timer(&n.wake, -1, at, func() {
		if n.sw != nil {
			n.sw.Wake(n.r.now)
		} else {
			n.nic.Wake(n.r.now)
		}
	})
}

func (n *lateNode) ArmPace(at units.Time) { n.timer(&n.pace, -1, at, func() { n.nic.Pace(n.r.now) }) }
func (n *lateNode) ArmStart(at units.Time, _ uint32) {
	n.timer(&n.start, -1, at, func() { n.nic.StartFlows(n.r.now) })
}

// late runs a scenario with timers and frames that are late by at most the given times.
func late(t *testing.T, b *fabric.Fabric, seed uint64, timers, frames units.Time) *lateRun {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	r := &lateRun{frames: frames, late: func(*lateNode, int) units.Time { return units.Time(random.Int64N(int64(timers) + 1)) }}
	r.run(t, b)
	return r
}

// run builds the nodes of a scenario and drives them.
func (r *lateRun) run(t *testing.T, b *fabric.Fabric) {
	t.Helper()
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
}

func (r *lateRun) join(from, to sim.End, delay units.Time) {
	r.nodes[from.Node].wires[from.Port] = lateWire{r.nodes[to.Node], to.Port, delay}
}

// count sums a counter over all switch ports.
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

// lateIncast is an incast over two switches at 100 Gbps, with constant pauses. The shared
// segment is small compared with the headroom.
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

// exactIncast is the headroom that a queue of lateIncast needs with a punctual driver: a
// round trip of 2 us at 12.5 B/ns, three frames of 1048 B and a PAUSE of 64 B.
const exactIncast = 25_000 + 3*1048 + 64

func buildLate(t *testing.T, flowControl string, headroom units.Bytes) *fabric.Fabric {
	t.Helper()
	size := 8*2*headroom + 500*units.KB // eight ports, two classes
	cfg, err := scenario.Parse("late.yaml", fmt.Appendf(nil, lateIncast, int64(size), flowControl, int64(headroom)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := fabric.New(cfg, fabric.Options{Invariants: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := link.Exact(&b.Spec.Switches[0].Ports[0]); got != exactIncast {
		t.Fatalf("a queue needs %d B, want %d B", got, exactIncast)
	}
	return b
}

// lateBlocked has one sender to a host that takes no frames, and a frame to the sender,
// with a given start time, that delays the PAUSE.
const lateBlocked = `
topology: {name: one-switch, hosts: 3, host_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1, 2], kind: lossless}}
switch:
  buffer: {size: 5MB}
  policy: {name: static, limit: 20KB}
  flow_control: {name: pfc, headroom: %dB}
  pfc: {processing: %s}
hosts: {cc: {name: none}, ack: {every: 100}, reliability: {timeout: 100ms}}
workload:
  - {name: a, generator: flows, class: 1, flows: [{from: host0, to: host1, size: 1MB, start: 0s}]}
  - {name: b, generator: flows, class: 2, flows: [{from: host2, to: host0, size: 1KB, start: %s}]}
faults: [{at: 0s, host: host1, stuck: true, for: 1ms}]
run: {arrivals: 100us, stop: {when: time, at_most: 120us}}
`

// A PAUSE costs headroom if it waits for a wire that is reported idle late, or if its
// processing ends late at the upstream. With lateness times rate on top of link.Exact
// nothing is dropped; with one frame less, something is.
func TestLatePause(t *testing.T) {
	ns := units.Nanosecond
	const toSender, sender = 0, 0 // port of the switch, host
	for _, c := range []struct {
		name       string
		wire, gate units.Time // lateness of the switch's wire and of the sender's timer
		processing units.Time
	}{
		{"punctual", 0, 0, 0},
		{"wire 200 ns late", 200 * ns, 0, 0},
		{"wire 50 us late", 50_000 * ns, 0, 0},
		{"wire 1 us late, end of processing 3 us late", 1000 * ns, 3000 * ns, 500 * ns},
	} {
		t.Run(c.name, func(t *testing.T) {
			// 100 Gbps is 25 B in 2 ns.
			exact := exactIncast + units.Bytes(c.processing/ns)*25/2
			enough := exact + units.Bytes((c.wire+c.gate)/ns)*25/2
			drops := func(headroom units.Bytes) (n uint64) {
				// Frame 20 of the sender crosses 20 KB, 1 us + 20 x 83.84 ns = 2.68 us after its start.
				// A frame of the third host occupies the wire to the sender 1 us + 83.84 ns after
				// its start; in the worst case this wire has just become busy. Frames leave for
				// the stuck host until its PAUSE is processed.
				first := 1500*ns + c.processing
				for start := first; start < first+250*ns; start += 8 * ns {
					cfg, err := scenario.Parse("late.yaml", fmt.Appendf(nil, lateBlocked, int64(headroom), c.processing, start))
					if err != nil {
						t.Fatal(err)
					}
					b, err := fabric.New(cfg, fabric.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if got := link.Exact(&b.Spec.Switches[0].Ports[toSender]); got != exact {
						t.Fatalf("a queue needs %d B, want %d B", got, exact)
					}
					r := &lateRun{late: func(n *lateNode, port int) units.Time {
						switch {
						case n.sw != nil && port == toSender:
							return c.wire
						case n.nic != nil && n == n.r.nodes[sender] && port < 0:
							return c.gate
						}
						return 0
					}}
					r.run(t, b)
					n += r.count(losslessDrops)
				}
				return n
			}
			if n := drops(enough); n != 0 {
				t.Errorf("%d frames dropped with %d B of headroom", n, enough)
			}
			if drops(enough-1048) == 0 {
				t.Errorf("nothing dropped with %d B of headroom, one frame less than needed", enough-1048)
			}
			if late := c.wire + c.gate; late > 0 && drops(exact) == 0 {
				t.Errorf("nothing dropped with %d B of headroom, enough only for a punctual driver", exact)
			}
		})
	}
}

// However late a driver is, all invariants hold and everything is delivered. With headroom
// for the lateness no lossless frame is dropped; with headroom for a punctual driver, some
// are.
func TestLateTimers(t *testing.T) { testLateTimers(t, trials.First(1)) }

func testLateTimers(t *testing.T, seeds []int) {
	t.Helper()
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
			// A wire that is reported idle late is also slower, so hardly anything is dropped if
			// all timers are late. TestLatePause covers a single late timer.
			{"frames in bursts of 50 us, headroom for a punctual driver", 0, 50 * us, false},
		} {
			t.Run(scheme+", "+c.name, func(t *testing.T) {
				headroom := units.Bytes(exactIncast)
				if c.enough {
					// A PAUSE waits for a late wire; both the PAUSE and the data arrive late.
					headroom += units.Bytes((c.timers+2*c.frames)/ns) * perNs / 2
				}
				drops := uint64(0)
				for _, seed := range seeds {
					b := buildLate(t, scheme, headroom)
					r := late(t, b, uint64(seed), c.timers, c.frames)
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
						t.Errorf("seed %d: %d pauses, %d frames in bursts, want at least 10 and 100", seed, r.count(pausesOf), r.bursts)
					}
				}
				if (drops == 0) != c.enough {
					t.Errorf("%d lossless frames dropped with %d B of headroom", drops, headroom)
				}
			})
		}
	}
}
