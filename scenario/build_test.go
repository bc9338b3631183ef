package scenario

import (
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
		b, err := Build(cfg, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Spec.Switches[0].Ports[0].MTU; got != c.want {
			t.Errorf("payload %d, ACK %d: headroom is sized for frames of %d B, want %d B", c.payload, c.ack, got, c.want)
		}
	}
}
