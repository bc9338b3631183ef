//go:build deep

package check

import (
	"context"
	"testing"

	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/internal/devtool/deep"
)

// 1024 hosts: 16 pods of 8 x 8 links between edge and aggregation switches, and
// 8 x 8 from there to cores. No single failure gives a cycle.
func TestDeepFailuresOfLargeFatTree(t *testing.T) {
	deep.Turn(t)
	g := fatTree(t, 16)
	f := NewFabric(g, nil, false)
	got, err := f.Failures(context.Background(), everyone, 1, 2, nil, nil)
	if err != nil || g.Hosts != 1024 || got.Links != 2048 || got.Sets != 2048 || got.Cyclic != 0 {
		t.Errorf("%d hosts: %+v, %v", g.Hosts, got, err)
	}
	// All pairs of failed links of a smaller one.
	f = NewFabric(fatTree(t, 6), nil, false)
	two, err := f.Failures(context.Background(), everyone, 2, 2, nil, nil)
	if err != nil || two.Sets != 108+5778 {
		t.Fatalf("%+v, %v", two, err)
	}
	w := newWalker(f, everyone)
	bad := 0
	for i := range f.graph.Links {
		for j := range i {
			if f.between(i) && f.between(j) {
				w.down[i], w.down[j] = true, true
				w.all()
				if len(w.deps.knot()) > 0 {
					bad++
				}
				w.down[i], w.down[j] = false, false
			}
		}
	}
	if bad != two.Cyclic {
		t.Errorf("%d pairs give cycles, %d when all routes are computed anew", two.Cyclic, bad)
	}
}

func TestDeepCheckExamples(t *testing.T) {
	deep.Turn(t)
	for _, e := range examples.All() {
		e, err := examples.Get(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, e.Text, 300)
	}
}
