package live

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/xoff-net/xoff/internal/netns"
	"github.com/xoff-net/xoff/sim"
)

// veths makes a veth pair for every cable of a run, in a namespace of their own, and opens
// the rings of all ends.
func veths(t testing.TB, spec *sim.Spec) map[sim.End]*Ring {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("packet sockets need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("there is no ip(8) to make interfaces with")
	}
	const mtu = 1800
	name := func(e sim.End) string { return fmt.Sprintf("node%d-%d", e.Node, e.Port) }
	plan := &netns.Plan{Prefix: "xofftest"}
	for i := range spec.Cables {
		c := &spec.Cables[i]
		plan.Pairs = append(plan.Pairs, netns.Pair{
			A: netns.End{Space: "all", Name: name(c.A), MTU: mtu}, B: netns.End{Space: "all", Name: name(c.B), MTU: mtu},
		})
	}
	made, err := netns.Make(plan)
	if err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	t.Cleanup(func() {
		if err := made.Remove(); err != nil {
			t.Error(err)
		}
	})
	rings := make(map[sim.End]*Ring)
	if err := made.In("all", func() error {
		for i := range spec.Cables {
			for _, e := range []sim.End{spec.Cables[i].A, spec.Cables[i].B} {
				f, err := OpenRing(name(e), mtu)
				if err != nil {
					return err
				}
				if rings[e], err = NewRing(f, mtu); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rings
}

// A whole run by packet sockets: everything is delivered, and nothing is strange.
func TestPacket(t *testing.T) {
	b := built(t, incast, "switch.flow_control.headroom=100KB", "switch.buffer.size=8MB",
		"topology.host_link.rate=20Mbps", "topology.fabric_link.rate=20Mbps")
	w, err := NewPacket(b.Spec, veths(t, b.Spec), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	delivers(t, b, w)
}

// BenchmarkPacket is what a hop by packet sockets costs both ends: encoded, sent through a
// veth pair, received, decoded.
func BenchmarkPacket(b *testing.B) {
	for _, size := range []int{64, 1500} {
		b.Run(fmt.Sprintf("%d B", size), func(b *testing.B) {
			x := built(b, fmt.Sprintf(line, size-46))
			w, err := NewPacket(x.Spec, veths(b, x.Spec), nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkSockets(b, x, w, size)
		})
	}
}
