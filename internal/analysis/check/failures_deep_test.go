//go:build deep

package check

import (
	"context"
	"testing"

	"github.com/xoff-net/xoff/examples"
)

// 1024 hosts: each of 16 pods has 8 x 8 links between edge and aggregation switches, and 8 x 8
// from there to the cores. No single failure causes a cycle.
func TestDeepFailuresOfLargeFatTree(t *testing.T) {
	g := fatTree(t, 16)
	f := NewFabric(g, nil, false)
	got, err := f.Failures(context.Background(), everyone, 1, 2, nil, nil)
	if err != nil || g.Hosts != 1024 || got.Links != 2048 || got.Sets != 2048 || got.Cyclic != 0 {
		t.Errorf("%d hosts: %+v, %v", g.Hosts, got, err)
	}
	// All pairs of failed links in a smaller fat-tree.
	f = NewFabric(fatTree(t, 6), nil, false)
	two, err := f.Failures(context.Background(), everyone, 2, 2, nil, nil)
	if err != nil || two.Sets != 108+5778 {
		t.Fatalf("%+v, %v", two, err)
	}
	w := newWalker(f, everyone)
	cyclic := 0
	for i := range f.graph.Links {
		for j := range i {
			if f.betweenSwitches(i) && f.betweenSwitches(j) {
				w.down[i], w.down[j] = true, true
				w.all()
				if len(w.deps.unsortable()) > 0 {
					cyclic++
				}
				w.down[i], w.down[j] = false, false
			}
		}
	}
	if cyclic != two.Cyclic {
		t.Errorf("%d pairs cause cycles, want %d as with all routes recomputed", two.Cyclic, cyclic)
	}
}

func TestDeepCheckExamples(t *testing.T) {
	testExamples(t, true)
	for _, e := range examples.All() {
		e, err := examples.Get(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, e.Text, 300)
	}
}
