package engine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/await"
	"github.com/xoff-net/xoff/internal/live/netns"
	"github.com/xoff-net/xoff/sim"
)

// veths creates a veth pair for every cable of a run, in one namespace, and opens the rings of
// all ends.
func veths(t testing.TB, spec *sim.Spec) map[sim.End]*Ring {
	t.Helper()
	return vethsOf(t, ringFrame, spec.Cables)
}

// ringFrame is the longest frame of rings in tests.
const ringFrame = 1800

func vethsOf(t testing.TB, mtu int, cables []sim.Cable) map[sim.End]*Ring {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("packet sockets need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip(8) is not installed")
	}
	name := func(e sim.End) string { return fmt.Sprintf("node%d-%d", e.Node, e.Port) }
	plan := &netns.Plan{Prefix: "xofftest"}
	for i := range cables {
		c := &cables[i]
		plan.Pairs = append(plan.Pairs, netns.Pair{
			A: netns.End{Space: "all", Name: name(c.A), MTU: mtu}, B: netns.End{Space: "all", Name: name(c.B), MTU: mtu},
		})
	}
	made, err := netns.Make(context.Background(), plan)
	if err != nil {
		t.Skipf("cannot create namespaces: %v", err)
	}
	t.Cleanup(func() {
		if err := made.Remove(); err != nil {
			t.Error(err)
		}
	})
	rings := make(map[sim.End]*Ring)
	if err := made.In("all", func() error {
		for i := range cables {
			for _, e := range []sim.End{cables[i].A, cables[i].B} {
				f, err := OpenRing(name(e), ringFrame)
				if err != nil {
					return err
				}
				if rings[e], err = NewRing(f, ringFrame); err != nil {
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

// TestPacket runs a scenario on packet sockets: all frames are delivered and none rejected.
func TestPacket(t *testing.T) {
	b := built(t, incast, "switch.flow_control.headroom=100KB", "switch.buffer.size=8MB",
		"topology.host_link.rate=20Mbps", "topology.fabric_link.rate=20Mbps")
	w, err := NewPacket(b.Spec, veths(t, b.Spec), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	delivers(t, b, w)
}

// TestPacketProcesses checks that two processes find each other through interfaces, and that
// frames pass between them.
func TestPacketProcesses(t *testing.T) {
	set := []string{"run.stop.at_most=500ms", "topology.host_link.rate=10Mbps"}
	where := veths(t, built(t, fmt.Sprintf(line, 1000), set...).Spec)
	ctx := await.Context(t)
	opened := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	close(opened[0])
	var all sync.WaitGroup
	totals := make([]sim.Totals, 2)
	for k := range totals {
		b := built(t, fmt.Sprintf(line, 1000), set...)
		here := make([]bool, b.Graph.Nodes())
		for i := range here {
			here[i] = (i == 0) == (k == 0) // host0, and all others
		}
		all.Go(func() {
			<-opened[k] // after the other process has opened its sockets
			w, err := NewPacket(b.Spec, where, here, nil)
			close(opened[k+1])
			if err != nil {
				t.Error(err)
				return
			}
			e, err := New(b.Spec, Options{Wires: w, Here: here})
			if err != nil {
				t.Error(err)
				return
			}
			if end, err := e.Run(ctx); err != nil {
				t.Errorf("process %d ended at %s: %v", k, end, err)
			}
			totals[k] = e.Totals()
		})
	}
	all.Wait()
	if totals[0].Hops == 0 || totals[1].Hops == 0 {
		t.Errorf("hops: %d in one process, %d in the other", totals[0].Hops, totals[1].Hops)
	}
}

// TestPacketTooLong checks that a frame longer than a slot is received as too long and not counted
// as lost, so that the user is told about offloads.
func TestPacketTooLong(t *testing.T) {
	const mtu = 4000
	here, peer := sim.End{Node: 0}, sim.End{Node: 1}
	rings := vethsOf(t, mtu, []sim.Cable{{A: here, B: peer}})
	b := make([]byte, 3000)
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
	if _, err := rings[here].Send([][]byte{b}); err != nil {
		t.Fatal(err)
	}
	longest := 0
	await.Until(t, "the frame arrives", func() bool {
		rings[peer].Poll(maxBatch, func(b []byte, _ int64, _ bool) { longest = max(longest, len(b)) })
		return longest > 0
	})
	if longest <= ringFrame || rings[peer].Lost() != 0 {
		t.Errorf("received %d bytes, want more than %d; %d frames lost", longest, ringFrame, rings[peer].Lost())
	}
}

// BenchmarkPacket measures a hop over packet sockets at both ends: encoding, a veth pair,
// receiving, decoding.
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
