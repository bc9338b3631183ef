//go:build deep

package fabric

import (
	"context"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// The largest fat-tree within the limits of topologies is built with less than 30 KB per host, and
// delivers 64 KB to every host.
func TestDeepLargestFabric(t *testing.T) {
	deep.Turn(t)
	if k := largest + 2; k*k*(k+5)/4 <= topo.MaxNodes {
		t.Errorf("a fat-tree of %d pods is within the limits too", k)
	}
	before := heap()
	f, err := New(largeTree(t, largest), Options{})
	if err != nil {
		t.Fatal(err)
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
