//go:build deep

package fabric

import (
	"context"
	"runtime/debug"
	"testing"

	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// A fat-tree with as many hosts as the limits allow is built with less than 30 KB per host, and
// delivers 64 KB to every host.
func TestDeepLargestFabric(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(40)) // for less than 6 GB
	before := heap()
	f, err := New(largeTree(t, 64, "topology.hosts_per_edge=64"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.Graph.Hosts != topo.MaxHosts {
		t.Errorf("%d hosts, want %d", f.Graph.Hosts, topo.MaxHosts)
	}
	fast, err := sim.NewFast(f.Spec, sim.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if used := (heap() - before) / int64(f.Graph.Hosts); used > 30_000 {
		t.Errorf("%d bytes per host, want at most 30000", used)
	}
	if _, err := fast.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := range f.Flows.Flow {
		if !f.Flows.Done(i) {
			t.Fatalf("flow %d is not complete", i)
		}
	}
}
