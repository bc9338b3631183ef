package sim_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// loopOfThree is a ring of three switches with one host each. Flows take the long way
// around. A paused queue is resumed only when it is empty.
const loopOfThree = `
name: loop
topology: {name: ring, switches: 3, hosts_per_switch: 1, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3, 4], kind: lossless}
switch:
  buffer: {size: 1MiB, private_per_queue: 0B}
  policy: {name: static, limit: 3000B}
  flow_control: {name: pfc, headroom: exact, delta: 3000B}
  pfc: {hold: indefinite}
  ecn: {name: none}
routing:
  name: static
  pinned:
    - {from: host0, to: host2, via: [switch0, switch1, switch2]}
    - {from: host1, to: host0, via: [switch1, switch2, switch0]}
    - {from: host2, to: host1, via: [switch2, switch0, switch1]}
hosts:
  payload: 1000B
  header: 48B
  reliability: {timeout: 1s, max_timeout: 1s}
  cc: {name: none}
workload:
  - {name: ring, generator: flows, class: 3, flows: [{from: host0, to: host2, size: 1MB}, {from: host1, to: host0, size: 1MB}, {from: host2, to: host1, size: 1MB}]}
run:
  arrivals: 1ns
  stop: {when: all_flows_done, at_most: 200us}
`

// truthRun is a completed run with its deadlocks.
type truthRun struct {
	built  *fabric.Fabric
	end    units.Time
	fabric sim.Counters
	left   []map[[2]int]units.Time // by node, then egress port and class: last departure
}

// departures records when the last frame left each queue.
type departures struct {
	probe.Ignore
	last map[[2]int]units.Time
}

func (d *departures) Depart(now units.Time, port int, p *packet.Packet) {
	if !p.Control() {
		d.last[[2]int{port, int(p.Class())}] = now
	}
}

// truthOptions select the engine and its options.
type truthOptions struct {
	sim.Options
	oracle bool
	set    []string
}

func truthOf(t testing.TB, text string, o truthOptions) *truthRun {
	t.Helper()
	cfg, err := scenario.Parse("test.yaml", []byte(text), o.set...)
	if err != nil {
		t.Fatal(err)
	}
	return truthOfConfig(t, cfg, o)
}

func truthOfConfig(t testing.TB, cfg *scenario.Config, o truthOptions) *truthRun {
	t.Helper()
	r := &truthRun{}
	var err error
	r.built, err = fabric.New(cfg, fabric.Options{Invariants: true, Sink: func(node int) probe.Sink {
		for len(r.left) <= node {
			r.left = append(r.left, nil)
		}
		r.left[node] = make(map[[2]int]units.Time)
		return &departures{last: r.left[node]}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var e interface {
		Run(context.Context) (units.Time, error)
		Final() sim.Counters
	}
	if o.oracle {
		e, err = sim.NewOracle(r.built.Spec, sim.OracleOptions{})
	} else {
		e, err = sim.NewFast(r.built.Spec, o.Options)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.end, err = e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.fabric = e.Final()
	for _, c := range r.built.Checks {
		if c.Broken > 0 {
			t.Fatal(c.First)
		}
	}
	return r
}

// text returns the names of the queues in a loop.
func (r *truthRun) text(d *sim.Deadlock) string {
	var hops []string
	for _, i := range d.Loop {
		q := &d.Queues[i]
		hops = append(hops, fmt.Sprintf("%s-%s/%d", r.built.Graph.Names[q.Node], r.built.Graph.Names[q.Peer.Node], q.Class))
	}
	return strings.Join(hops, " ")
}

// still checks that no frame left a queue after it was stuck.
func (r *truthRun) still(t testing.TB) {
	t.Helper()
	for i := range r.fabric.Deadlocks {
		d := &r.fabric.Deadlocks[i]
		if d.End != units.Never {
			t.Errorf("the deadlock at %s ended at %s", d.Onset, d.End)
		}
		for _, q := range d.Queues {
			if last := r.left[q.Node][[2]int{q.Port, int(q.Class)}]; last > q.Stuck {
				t.Errorf("%s port %d class %d was stuck at %s; a frame left at %s", r.built.Graph.Names[q.Node], q.Port, q.Class, q.Stuck, last)
			}
		}
	}
}

// A frame takes 83.84 ns. Frames from a host reach their switch at 1083.84 + 83.84 m ns
// and pass straight through. So frames from the ring arrive at 2167.68 + 83.84 k ns,
// 77.76 ns after host frame 12 + k. From then on two frames arrive for each one that
// leaves (h: from the host, r: from the ring):
//
//	2167.68 r0 waits; 2173.76 h13 waits, r0 leaves
//	2251.52 r1;       2257.60 h14, h13 leaves
//	2335.36 r2;       2341.44 h15, r1 leaves
//	2419.20 r3;       2425.28 h16: the third of the host (h14, h15), 3144 > 3000 B: PAUSE; h14 leaves
//	2503.04 r4: the third of the ring (r2, r3): PAUSE
//
// The PAUSE of 64 bytes takes 5.12 ns, the cable 1 us: at 3508.16 ns the upstream egress
// is paused, and all three are at the same time. The frames that wait there came from the
// ring too. A queue resumes 3000 B below its threshold of 3000 B, when it is empty, so
// none of them resumes.
const loopCloses = 3508160

// Every engine finds the same onset, whether it searches once or periodically.
func TestLoopCloses(t *testing.T) {
	for _, o := range []truthOptions{
		{}, {oracle: true}, {Options: sim.Options{WindowDivisor: 2}}, {Options: sim.Options{WindowDivisor: 3, Workers: 2}},
	} {
		for _, set := range [][]string{nil, {"output.deadlocks=true"}, {"run.stop.deadlock=true"}, {"run.stop.at_most=3509ns"}, {"run.stop.at_most=3508161ps"}} {
			o.set = set
			r := truthOf(t, loopOfThree, o)
			if len(r.fabric.Deadlocks) != 1 {
				t.Fatalf("%+v: %d deadlocks", o, len(r.fabric.Deadlocks))
			}
			d := &r.fabric.Deadlocks[0]
			if d.Onset != loopCloses || len(d.Queues) != 3 || r.text(d) != "switch0-switch1/3 switch1-switch2/3 switch2-switch0/3" {
				t.Errorf("%+v: onset %d ps, %d queues, %s", o, d.Onset, len(d.Queues), r.text(d))
			}
			if len(set) > 0 && set[0] == "run.stop.deadlock=true" && r.end != sim.CheckPeriod {
				t.Errorf("%+v: the run ended at %s", o, r.end)
			}
			r.still(t)
		}
		// Events before 3508160 ps have happened, events at that time have not.
		o.set = []string{"run.stop.at_most=3508160ps"}
		if r := truthOf(t, loopOfThree, o); len(r.fabric.Deadlocks) != 0 {
			t.Errorf("%+v: found a deadlock before the loop closed: %+v", o, r.fabric.Deadlocks)
		}
	}
}

// Every queue of the ring is paused by the next one, but the frames that fill it leave the
// ring: flows take one hop, to hosts that are slow or stuck.
func TestPausedLoopThatDrainsIsNoDeadlock(t *testing.T) {
	straight := []string{
		`routing.pinned=[]`, "output.deadlocks=true", "run.stop.at_most=2ms",
		`workload.ring.flows=[{from: host0, to: host1, size: 100KB}, {from: host1, to: host2, size: 100KB}, {from: host2, to: host0, size: 100KB}]`,
	}
	for name, set := range map[string][]string{
		"slow":  {"hosts.receive={rate: 10Gbps, buffer: 100KB, xoff: 5KB}"},
		"stuck": {"faults=[{at: 0s, host: host0, stuck: true, for: 10ms}, {at: 0s, host: host1, stuck: true, for: 10ms}, {at: 0s, host: host2, stuck: true, for: 10ms}]"},
	} {
		r := truthOf(t, loopOfThree, truthOptions{set: append(straight, set...)})
		loop := uint64(0)
		for _, p := range r.fabric.Ports {
			if !p.Host && p.Peer >= 3 {
				loop += min(1, p.Stats.Pauses[3])
			}
		}
		if loop != 3 {
			t.Errorf("%s: %d of 3 ring ports sent a pause", name, loop)
		}
		if len(r.fabric.Deadlocks) != 0 {
			t.Errorf("%s: a deadlock at %s: %s", name, r.fabric.Deadlocks[0].Onset, r.text(&r.fabric.Deadlocks[0]))
		}
		done := 0
		for i := range r.built.Flows.Flow {
			if r.built.Flows.Done(i) {
				done++
			}
		}
		if want := map[string]int{"slow": 3, "stuck": 0}[name]; done != want {
			t.Errorf("%s: %d flows done, want %d", name, done, want)
		}
	}
}

// A second class starts long after the first is stuck. It finds the wires idle, so its
// loop closes equally long after its start.
func TestTwoLoops(t *testing.T) {
	const later = 40 * units.Microsecond
	text := strings.Replace(loopOfThree, "run:\n", `  - name: more
    generator: flows
    class: 4
    flows:
      - {from: host0, to: host2, size: 1MB, start: 40us}
      - {from: host1, to: host0, size: 1MB, start: 40us}
      - {from: host2, to: host1, size: 1MB, start: 40us}
run:
`, 1)
	for _, set := range [][]string{{"run.arrivals=100us"}, {"run.arrivals=100us", "output.deadlocks=true"}} {
		r := truthOf(t, text, truthOptions{set: set})
		if len(r.fabric.Deadlocks) != 1 || len(r.fabric.Deadlocks[0].Queues) != 6 {
			t.Fatalf("%+v", r.fabric.Deadlocks)
		}
		d := &r.fabric.Deadlocks[0]
		for _, q := range d.Queues {
			want := units.Time(loopCloses)
			if q.Class == 4 {
				want += later
			}
			if q.Stuck != want {
				t.Errorf("port %d class %d stuck at %d ps, want %d", q.Port, q.Class, q.Stuck, want)
			}
		}
		if d.Onset != loopCloses || d.Hosts != 3 {
			t.Errorf("onset %d ps, %d hosts", d.Onset, d.Hosts)
		}
		r.still(t)
	}
}

// A link that fails and comes back frees the loop. The deadlock ends exactly when the first
// frame leaves one of its queues, and the next deadlock is reported separately.
func TestDeadlockEnds(t *testing.T) {
	var first []sim.Deadlock
	for _, o := range []truthOptions{{}, {oracle: true}, {Options: sim.Options{WindowDivisor: 3, Workers: 2}}} {
		o.set = []string{"output.deadlocks=true", "faults=[{at: 55us, link: switch0-switch1, down_for: 1us}]"}
		r := truthOf(t, loopOfThree, o)
		list := r.fabric.Deadlocks
		if len(list) != 2 || list[0].Onset != loopCloses || list[1].End != units.Never {
			t.Fatalf("%+v: %+v", o, list)
		}
		// A link change clears the pause; the egress sends at once.
		if want := 55 * units.Microsecond; list[0].End != want {
			t.Errorf("%+v: ended at %s, want %s", o, list[0].End, want)
		}
		if list[1].Onset <= list[0].End {
			t.Errorf("%+v: the second at %s", o, list[1].Onset)
		}
		if first == nil {
			first = list
		}
		if !reflect.DeepEqual(first, list) {
			t.Errorf("%+v: %+v, but %+v", o, list, first)
		}
	}
}

// The examples that deadlock give the same result on every engine, with any window,
// watched or not.
func TestDeadlocksAgree(t *testing.T) {
	for _, name := range []string{"deadlock", "roundabout-ring", "dsh-fig16"} {
		t.Run(name, func(t *testing.T) {
			if name == "dsh-fig16" && testing.Short() {
				t.Skip("the small examples cover the same engines under the race detector")
			}
			t.Parallel()
			var first []sim.Deadlock
			for _, o := range []truthOptions{
				{}, {oracle: true, set: []string{"output.deadlocks=true"}}, {Options: sim.Options{WindowDivisor: 2}},
				{set: []string{"output.deadlocks=true"}, Options: sim.Options{WindowDivisor: 3, Workers: 2}},
			} {
				if name == "dsh-fig16" && o.WindowDivisor == 2 {
					continue
				}
				o.set = append(o.set, "run.arrivals=10us", "run.stop.at_most=300us")
				if name == "dsh-fig16" {
					o.set = append(o.set, "run.stop.at_most=370us", "run.arrivals=370us")
				}
				cfg, err := scenario.ReadFile("../examples/"+name+".yaml", o.set...)
				if err != nil {
					t.Fatal(err)
				}
				r := truthOfConfig(t, cfg, o)
				if first == nil {
					first = r.fabric.Deadlocks
				}
				if len(first) != 1 || !reflect.DeepEqual(first, r.fabric.Deadlocks) {
					t.Errorf("%+v: %+v, but %+v", o, r.fabric.Deadlocks, first)
				}
				r.still(t)
			}
		})
	}
}

// In the deadlock example, queues pause and resume before the loop closes. At times a
// RESUME is in flight while its sender wants a pause again.
func TestSearchOften(t *testing.T) {
	text, err := os.ReadFile("../examples/deadlock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := truthOf(t, string(text), truthOptions{})
	if len(r.fabric.Deadlocks) != 1 {
		t.Fatalf("%+v", r.fabric.Deadlocks)
	}
	searchOften(t, string(text), r.fabric.Deadlocks, 1)
}
