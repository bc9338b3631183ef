package check

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/topo"
)

// Two failures in a leaf-spine with two spines cause loops if they separate different leaves
// from different spines: 4 x 3 choices of a leaf for spine 0 and one for spine 1.
func TestFailuresOfLeafSpine(t *testing.T) {
	f := NewFabric(topo.LeafSpine(4, 2, 2, cable, cable), nil, false)
	for k, want := range map[int]Failures{1: {AtMost: 1, Links: 8, Sets: 8}, 2: {AtMost: 2, Links: 8, Sets: 8 + 28, Cyclic: 12}} {
		var last atomic.Uint64
		got, err := f.Failures(context.Background(), everyone, k, 2, nil, func(done, all uint64) {
			if done == all {
				last.Store(all)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.AtMost != want.AtMost || got.Links != want.Links || got.Sets != want.Sets || got.Cyclic != want.Cyclic || last.Load() != want.Sets {
			t.Errorf("%d failures: %+v, want %+v", k, got, want)
		}
		if len(got.listed) != want.Cyclic {
			t.Errorf("%d listed", len(got.listed))
		}
		for _, b := range got.listed {
			if len(b.Links) != 2 || len(b.Cycles) == 0 {
				t.Errorf("%v", b)
			}
		}
	}
	// Sets with a smaller cyclic subset are skipped: here every cyclic set of three links has
	// one.
	three, err := f.Failures(context.Background(), everyone, 3, 2, nil, nil)
	if err != nil || three.Cyclic != 12 || three.Sets != 8+28+56 {
		t.Errorf("three failures: %+v, %v", three, err)
	}
}

// The result does not depend on the number of workers.
func TestFailuresByWorkers(t *testing.T) {
	f := NewFabric(topo.LeafSpine(4, 2, 2, cable, cable), nil, false)
	one, err := f.Failures(context.Background(), everyone, 2, 1, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{2, 7} {
		if got, err := f.Failures(context.Background(), everyone, 2, workers, nil, nil); err != nil || !reflect.DeepEqual(got, one) {
			t.Errorf("%d workers: %+v, %v", workers, got, err)
		}
	}
}

// With one link of Fig. 16 down already, the failure of the other is enough.
func TestFailuresOnTop(t *testing.T) {
	g := topo.LeafSpine(4, 2, 2, cable, cable)
	f := NewFabric(g, nil, false)
	got, err := f.Failures(context.Background(), everyone, 1, 2, down(t, g, "leaf3-spine0"), nil)
	if err != nil || got.Links != 7 || got.Cyclic != 3 { // spine1 loses leaf0, leaf1 or leaf2
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFailuresEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := NewFabric(fatTree(t, 4), nil, false)
	if _, err := f.Failures(ctx, everyone, 2, 2, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSets(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want uint64
		ok   bool
	}{{8, 1, 8, true}, {8, 2, 36, true}, {2048, 2, 2048 + 2096128, true}, {2048, 3, 0, false}} {
		if got, ok := sets(c.n, c.k); got != c.want || ok != c.ok {
			t.Errorf("%d of %d: %d, %v", c.k, c.n, got, ok)
		}
	}
}

// A fat-tree has no cycle after any single failure: no route uses a switch that has lost its
// path down.
func TestFailuresOfFatTree(t *testing.T) {
	f := NewFabric(fatTree(t, 4), nil, false)
	got, err := f.Failures(context.Background(), everyone, 1, 2, nil, nil)
	if err != nil || got.Sets != 32 || got.Cyclic != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The incremental search gives the same result as recomputing all routes: for pairs of failed
// links in random trees with some links missing.
func TestFailuresAgainstNaive(t *testing.T) {
	cyclic, free := 0, 0
	trials.Check(t, func(r *rapid.T) {
		var g *topo.Graph
		if rapid.Bool().Draw(r, "tree") {
			g = fatTree(t, 4)
		} else {
			g = topo.LeafSpine(rapid.IntRange(2, 5).Draw(r, "leaves"), rapid.IntRange(1, 4).Draw(r, "spines"), 1, cable, cable)
		}
		f := NewFabric(g, nil, false)
		off := make([]bool, len(g.Links))
		var up []int32
		for i := range g.Links {
			if f.betweenSwitches(i) {
				if off[i] = rapid.IntRange(0, 9).Draw(r, "down") == 0; !off[i] {
					up = append(up, int32(i))
				}
			}
		}
		traffic := &Traffic{}
		if rapid.Bool().Draw(r, "some") {
			traffic.from = matrix(len(f.homes))
			for i := range traffic.from {
				for j := range traffic.from {
					traffic.from[i][j] = rapid.Bool().Draw(r, "sends")
				}
			}
		}
		if cycles, _ := f.Cycles(traffic, off); len(cycles) > 0 || len(up) < 2 {
			return
		}
		h := newHealthy(f, traffic, off)
		w, s := newWalker(f, traffic), &sorter{}
		copy(w.down, off)
		for range 20 {
			set := []int32{rapid.SampledFrom(up).Draw(r, "a"), rapid.SampledFrom(up).Draw(r, "b")}
			slices.Sort(set)
			if set = slices.Compact(set); len(set) < 2 {
				continue
			}
			is := slices.Clone(off)
			for _, l := range set {
				is[l] = true
			}
			naive := len(f.Dependencies(traffic, is).unsortable()) > 0
			if got := h.cyclic(w, s, set); got != naive {
				r.Fatalf("links %v: %v, want %v", set, got, naive)
			}
			if naive {
				cyclic++
			} else {
				free++
			}
		}
	})
	if cyclic == 0 || free == 0 {
		t.Errorf("%d sets with cycles and %d without: the test proves nothing", cyclic, free)
	}
}

func BenchmarkFailures(b *testing.B) {
	for _, k := range []int{8, 16} {
		f := NewFabric(fatTree(b, k), nil, false)
		b.Run(fmt.Sprintf("fat-tree-%d", k), func(b *testing.B) {
			for b.Loop() {
				got, err := f.Failures(context.Background(), everyone, 1, 2, nil, nil)
				if err != nil || got.Cyclic != 0 {
					b.Fatal(got, err)
				}
			}
		})
	}
}
