package fabric

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Faults may be listed in any order.
func TestStuckTimesInOrder(t *testing.T) {
	c := parse(t, `
faults:
  - {at: 50us, host: host1, stuck: true, for: 10us}
  - {at: 10us, host: host1, stuck: true, for: 5us}
workload: [{name: w, generator: flows, flows: [{from: host0, to: host5, size: 1KB, start: 0}]}]
`)
	built, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	us := units.Microsecond
	want := []units.Interval{{From: 10 * us, To: 15 * us}, {From: 50 * us, To: 60 * us}}
	if got := built.Spec.Hosts[1].Receive.Stuck; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := built.Spec.Hosts[0].Receive.Stuck; got != nil {
		t.Errorf("host0 is stuck: %v", got)
	}
}

// A listed flow can have its own routes, forward and back. A route that names a port uses
// that port.
func TestRoutesOfAFlow(t *testing.T) {
	// Four hosts per leaf are ports 0 to 3 of a leaf, spines 4 to 7. The leaves are
	// ports 0 to 3 of a spine.
	cfg, err := Parse("a.yaml", []byte(`
workload:
  - name: a
    generator: flows
    flows:
      - {from: host0, to: host5, size: 1KB, start: 2us}
      - {from: host0, to: host5, size: 1KB, start: 1us, via: [leaf0.port6, spine2, leaf1], back: [leaf1, spine1, leaf0]}
`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !b.Flows.Flow[0].Pinned || b.Flows.Flow[1].Pinned { // the second of the list starts first
		t.Fatalf("pinned: %v, %v", b.Flows.Flow[0].Pinned, b.Flows.Flow[1].Pinned)
	}
	data := packet.Packet{To: 5, Flags: packet.Pinned, Meta: packet.MakeMeta(packet.Data, 3)}
	ack := packet.Packet{To: 0, Flags: packet.Pinned, Meta: packet.MakeMeta(packet.Ack, 3)}
	for _, c := range []struct {
		node          string
		forward, back int
	}{{"leaf0", 6, 0}, {"leaf1", 1, 5}, {"spine2", 1, -1}, {"spine1", -1, 0}} {
		spec := b.Spec.Switches[b.Graph.Node(c.node)-b.Graph.Hosts]
		r, err := spec.Router(route.Env{Table: spec.Routes})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Route(0, 0, &data); c.forward >= 0 && got != c.forward {
			t.Errorf("%s sends data by port %d, want %d", c.node, got, c.forward)
		}
		if got := r.Route(0, 0, &ack); c.back >= 0 && got != c.back {
			t.Errorf("%s sends ACKs by port %d, want %d", c.node, got, c.back)
		}
	}
}

// Congestion control with telemetry needs the lengths of routes before there are flows
// that could be pinned.
func TestPinnedRouteWithTelemetry(t *testing.T) {
	c := parse(t, `
routing:
  pinned: [{from: host0, to: host5, via: [leaf0, spine2, leaf1]}]
hosts: {cc: {name: powertcp}}
workload:
  - {name: w, generator: flows, flows: [{from: host0, to: host5, size: 1KB, start: 0}]}
`)
	built, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !built.Flows.Flow[0].Pinned {
		t.Error("the flow is not pinned")
	}
}

// A pinned flow finds its next hop at every switch of its route, both before and
// after tables change.
func TestPinnedRoute(t *testing.T) {
	c := parse(t, `
routing:
  pinned: [{from: host0, to: host5, via: [leaf0, spine2, leaf1]}]
workload:
  - name: w
    generator: flows
    flows:
      - {from: host0, to: host5, size: 1KB, start: 0}
      - {from: host1, to: host5, size: 1KB, start: 0}
faults:
  - {at: 10us, link: leaf2-spine0, down_for: 10us}
`)
	built, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := built.Flows.Flow; !f[0].Pinned || f[1].Pinned {
		t.Fatalf("flows are %+v", f)
	}
	leaf0 := built.Graph.Hosts
	seen := 0
	for _, r := range built.Spec.Routes {
		if r.Node == leaf0 {
			seen++
			if port, ok := r.Table.Pinned[0]; !ok || port != 6 { // four hosts, then the third spine
				t.Errorf("at %s leaf0 sends the pinned flow to port %d, %v", r.At, port, ok)
			}
		}
	}
	if seen != 2 {
		t.Errorf("leaf0 gets %d tables, want 2", seen)
	}
}

// A PAUSE waits for the frame on the wire, so if ACKs are longer than packets, headroom
// must be sized for ACKs.
func TestLongestFrameSizesHeadroom(t *testing.T) {
	for _, c := range []struct{ payload, ack, want units.Bytes }{
		{1000, 64, 1048},
		{1000, 9000, 9000},
		{10, 58, 64}, // a PFC frame is longer than both
	} {
		cfg := scenario.Default()
		cfg.Hosts.Payload, cfg.Hosts.Ack.Size = c.payload, c.ack
		cfg.Switch.Buffer.Size = 64 * units.MiB
		cfg.Switch.Scheduler.Params = &sched.DWRRParams{Quantum: 9 * units.KB}
		cfg.Workload = []scenario.Workload{{Name: "w", Generator: "flows", Params: &workload.List{Flows: []workload.FlowSpec{{From: "host0", To: "host1", Size: 1}}}}}
		b, err := New(cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Spec.Switches[0].Ports[0].MTU; got != c.want {
			t.Errorf("payload %d, ACK %d: headroom is sized for frames of %d B, want %d B", c.payload, c.ack, got, c.want)
		}
	}
}

// Headroom in cells depends on the smallest frame, which may be an ACK if ACKs use a
// lossless class.
func TestShortestFrameSizesCells(t *testing.T) {
	for _, c := range []struct {
		class string
		ack   units.Bytes
		want  units.Bytes
	}{
		{"control", 20, 49}, // a header of 48 B and one byte
		{"rdma", 20, 20},
		{"rdma", 64, 49},
	} {
		cfg := scenario.Default()
		cfg.Hosts.Ack.Class, cfg.Hosts.Ack.Size = c.class, c.ack
		l, err := lay(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.PortSpecs(0)[0].MinFrame; got != c.want {
			t.Errorf("ACKs of %d B in class %s: smallest frame %d B, want %d B", c.ack, c.class, got, c.want)
		}
	}
}

// A run with nothing to wait for is rejected instead of ending at 0.
func TestNothingToDo(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"name: a", "a.yaml: workload: the run would end at once: there is no workload (expected at least one)"},
		{"run: {arrivals: 1ns}\nworkload:\n  - {name: w, generator: poisson, sizes: 100MB, load: {share: 0.01, of: host_links}}",
			"a.yaml:2:1: workload: the run would end at once: no flow starts in 1ns; fix: increase run.arrivals or the load"},
		{"run: {measure: {from: 5us}}\nworkload: [{name: w, generator: flows, flows: [{from: host0, to: host5, size: 1KB, start: 0}]}]",
			"a.yaml:1:7: run.measure: the run would end at once: none of the 1 flows starts in the measurement window (expected at least one)"},
	} {
		if _, err := New(parse(t, c.text), Options{}); fmt.Sprint(err) != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// A timeout shorter than the round trip would retransmit everything. On the default fabric
// a round trip is 4 x (83,840 ps + 1 us) + 4 x (5,120 ps + 1 us).
func TestTimeoutBelowRoundTrip(t *testing.T) {
	text := "hosts: {reliability: {timeout: %s}}\nworkload: [{name: w, generator: flows, flows: [{from: host0, to: host5, size: 1KB, start: 0}]}]"
	for timeout, want := range map[string]string{
		"8355840ps": "<nil>",
		"8355839ps": "a.yaml:1:32: hosts.reliability.timeout: timeout is shorter than the round trip: 8.355839us (expected at least 8.35584us, the round trip in an empty network)",
		"1ps":       "a.yaml:1:32: hosts.reliability.timeout: timeout is shorter than the round trip: 1ps (expected at least 8.35584us, the round trip in an empty network)",
	} {
		if _, err := New(parse(t, fmt.Sprintf(text, timeout)), Options{}); fmt.Sprint(err) != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// Files may begin with a byte order mark, a YAML directive or a document marker.
func TestPrologues(t *testing.T) {
	for _, prologue := range []string{"\ufeff", "%YAML 1.2\n---\n", "\ufeff%YAML 1.2\n---\n", "---\n"} {
		if c := parse(t, prologue+"name: x\nseed: 5\n"); c.Name != "x" || c.Seed != 5 {
			t.Errorf("%q: name %q, seed %d", prologue, c.Name, c.Seed)
		}
	}
	for _, text := range []string{"%YAML 1.2\n---\n", "\ufeff"} {
		if _, err := Parse("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "the file is empty") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func leavesOf(params any) int {
	if p, ok := params.(*topo.LeafSpineParams); ok {
		return p.Leaves
	}
	return 0
}

// A --set value in braces replaces the whole mapping, including keys that it does not
// name. A single key changes nothing else.
func TestSetReplaces(t *testing.T) {
	text := "topology: {name: leaf-spine, leaves: 8, spines: 2}\nhosts: {ack: {every: 4, size: 80B}}\nrun: {arrivals: 5ms, stop: {when: time}}\n"
	c := parse(t, text, "topology={name: one-switch, hosts: 5}", "hosts.ack={size: 70B}", "run.stop.at_most=7ms")
	usual := scenario.Default()
	if g, err := layout.Graph(c); err != nil || g.Hosts != 5 || c.Topology.Name != "one-switch" {
		t.Errorf("topology %+v: %v", c.Topology, err)
	}
	if want := (scenario.Ack{Every: usual.Hosts.Ack.Every, Class: "control", Size: 70}); c.Hosts.Ack != want {
		t.Errorf("ack %+v, want %+v", c.Hosts.Ack, want)
	}
	if want := (scenario.Stop{When: "time", AtMost: 7 * units.Millisecond}); c.Run.Stop != want || c.Run.Arrivals != 5*units.Millisecond {
		t.Errorf("run %+v, want %+v", c.Run, want)
	}
	if c := parse(t, text, "topology={spines: 3}"); !reflect.DeepEqual(c.Topology.Params.(*topo.LeafSpineParams).Leaves, 4) {
		t.Errorf("topology %+v keeps the leaves of the file", c.Topology.Params)
	}
	// Choosing the same scheme keeps its parameters; another scheme has its own.
	for set, want := range map[string]string{"topology.name=leaf-spine": "8", "topology.name=one-switch": "0"} {
		p := parse(t, text, set).Topology.Params
		if got := fmt.Sprint(leavesOf(p)); got != want {
			t.Errorf("%s: %s leaves, want %s", set, got, want)
		}
	}
	// Braces also replace mappings in the parameters of a scheme and in overrides.
	text += "switch: {overrides: [{match: leaf0, buffer: {size: 32MiB, cell: 64B}, policy: {alpha: 1/4}}]}\n"
	c = parse(t, strings.Replace(text, "spines: 2", "spines: 2, host_link: {rate: 25Gbps, delay: 7us}", 1), "topology.host_link={rate: 50Gbps}", "switch.overrides[0].buffer={size: 64MiB}")
	want := usual.Topology.Params.(*topo.LeafSpineParams)
	if got := c.Topology.Params.(*topo.LeafSpineParams); got.HostLink.Rate != 50*units.Gbps || got.HostLink.Delay != want.HostLink.Delay || got.Leaves != 8 {
		t.Errorf("topology %+v", got)
	}
	if got := fmt.Sprint(c.Switch.Overrides); got != "[{leaf0 {policy: {alpha: 1/4}, buffer: {size: 64MiB}}}]" {
		t.Errorf("overrides %s", got)
	}
	if _, err := Parse("a.yaml", []byte(text), "classes.rdma={ids: [1]}"); err == nil {
		t.Error("a group keeps its kind although the braces omit it")
	}
	if c := parse(t, text, "switch.overrides[0]={match: leaf1, latency: 1us}"); fmt.Sprint(c.Switch.Overrides) != "[{leaf1 {latency: 1us}}]" {
		t.Errorf("overrides %s", fmt.Sprint(c.Switch.Overrides))
	}
}
