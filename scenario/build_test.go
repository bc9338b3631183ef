package scenario

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/units"
)

// Faults may be listed in any order.
func TestStuckTimesInOrder(t *testing.T) {
	c := parse(t, `
faults:
  - {at: 50us, host: host1, stuck: true, for: 10us}
  - {at: 10us, host: host1, stuck: true, for: 5us}
workload: [{name: w, generator: flows, flows: [{from: host0, to: host5, size: 1KB, start: 0}]}]
`)
	built, err := Build(c, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	us := units.Microsecond
	want := []dataplane.Interval{{From: 10 * us, To: 15 * us}, {From: 50 * us, To: 60 * us}}
	if got := built.Spec.Hosts[1].Receive.Stuck; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := built.Spec.Hosts[0].Receive.Stuck; got != nil {
		t.Errorf("host0 is stuck: %v", got)
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
	built, err := Build(c, BuildOptions{})
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

// A PAUSE waits for whatever frame is on the wire: where ACKs are longer than
// packets, the headroom must be sized for ACKs.
func TestLongestFrameSizesHeadroom(t *testing.T) {
	for _, c := range []struct{ payload, ack, want units.Bytes }{
		{1000, 64, 1048},
		{1000, 9000, 9000},
		{10, 58, 64}, // a PFC frame is longer than both
	} {
		cfg := Default()
		cfg.Hosts.Payload, cfg.Hosts.Ack.Size = c.payload, c.ack
		cfg.Switch.Buffer.Size = 64 * units.MiB
		cfg.Switch.Scheduler.Quantum = 9 * units.KB
		cfg.Workload = []Workload{{Name: "w", Generator: "flows", Flows: []FlowSpec{{From: "host0", To: "host1", Size: 1}}}}
		b, err := Build(cfg, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Spec.Switches[0].Ports[0].MTU; got != c.want {
			t.Errorf("payload %d, ACK %d: headroom is sized for frames of %d B, want %d B", c.payload, c.ack, got, c.want)
		}
	}
}

// In cells the headroom counts frames of the smallest size: an ACK may be one of
// them where ACKs travel in a lossless class.
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
		cfg := Default()
		cfg.Hosts.Ack.Class, cfg.Hosts.Ack.Size = c.class, c.ack
		b := newBuilder(cfg, BuildOptions{})
		if got := b.portSpecs(0)[0].MinFrame; got != c.want {
			t.Errorf("ACKs of %d B in class %s: smallest frame %d B, want %d B", c.ack, c.class, got, c.want)
		}
	}
}

// A run with nothing to wait for is refused rather than ended at 0.
func TestNothingToDo(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"name: a", "a.yaml:1:1: workload: the run would end at once: there is no workload; allowed: at least one generator of flows"},
		{"run: {arrivals: 1ns}\nworkload:\n  - {name: w, generator: poisson, sizes: 100MB, load: {share: 0.01, of: host_links}}",
			"a.yaml:2:1: workload: the run would end at once: no flow starts in 1ns; allowed: a longer run.arrivals, or a higher load"},
		{"run: {measure: {from: 5us}}\nworkload: [{name: w, generator: flows, flows: [{from: host0, to: host5, size: 1KB, start: 0}]}]",
			"a.yaml:1:7: run.measure: the run would end at once: none of the 1 flows starts in the measured time; allowed: a time in which flows start"},
	} {
		if _, err := Build(parse(t, c.text), BuildOptions{}); fmt.Sprint(err) != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
