package workload

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// schedule returns the earliest step of each flow if every flow takes one step.
func schedule(p *Plan) []int {
	steps := make([]int, len(p.Flows))
	for _, w := range p.Waits { // a plan lists dependencies first
		for _, on := range w.On {
			steps[w.Flow] = max(steps[w.Flow], steps[on]+1)
		}
	}
	return steps
}

// Ring all-reduce of 4 ranks and 1002 B, worked out by hand: pieces 0 and 1 have 251 B, 2 and
// 3 have 250 B. In step s rank i sends piece i - s to rank i + 1; there are 6 steps.
func TestRing(t *testing.T) {
	e := world(t, fabric(2, 2), AnyPair, units.Millisecond)
	p := generate(t, e, &RingAllReduce{Size: 1002, Order: "hosts", Repeat: 1})
	if len(p.Flows) != 24 {
		t.Fatalf("%d flows", len(p.Flows))
	}
	piece := []units.Bytes{251, 251, 250, 250}
	steps := schedule(p)
	for i, f := range p.Flows {
		step, rank := i/4, int32(i%4)
		if steps[i] != step || f.Src != rank || f.Dst != (rank+1)%4 || f.Size != piece[((i%4-step)%4+4)%4] {
			t.Errorf("flow %d, step %d: %+v", i, steps[i], f)
		}
		if f.Hash != p.Flows[i%4].Hash || f.Class != p.Flows[0].Class {
			t.Errorf("flow %d changes its connection", i)
		}
	}
	// Rank 2 forwards in step 3 the piece that rank 1 sent in step 2.
	if w := p.Waits[3*4+2-4]; w.Flow != 14 || !reflect.DeepEqual(w.On, []int32{9}) {
		t.Errorf("%+v", w)
	}
	// Each rank receives each piece once per half: all but its last piece in reduce-scatter,
	// the same in all-gather, so 3/4 of the data twice.
	if got := p.bytes(); got != 2*3*1002 {
		t.Errorf("%v bytes", got)
	}
}

// Ranks across racks: hosts 0, 2, 1, 3. Two rounds, two rings of two.
func TestRingRepeats(t *testing.T) {
	e := world(t, fabric(2, 2), AnyPair, units.Millisecond)
	p := generate(t, e, &RingAllReduce{Size: 1000, Order: "across_racks", Repeat: 2, Ranks: 2, Gap: 9})
	// A ring of two: 2 steps x 2 ranks x 2 rounds, twice.
	if len(p.Flows) != 16 || p.Flows[0].Src != 0 || p.Flows[0].Dst != 2 || p.Flows[8].Src != 1 || p.Flows[8].Dst != 3 {
		t.Fatalf("%+v", p.Flows)
	}
	groups := map[int32]int{}
	for _, f := range p.Flows {
		groups[f.Group]++
	}
	if !reflect.DeepEqual(groups, map[int32]int{0: 4, 1: 4, 2: 4, 3: 4}) {
		t.Errorf("groups are %v", groups)
	}
	// Flow 4 is rank 0's first of the second round: it waits for flows 1 and 3.
	for _, w := range p.Waits {
		if w.Flow == 4 && (!reflect.DeepEqual(w.On, []int32{1, 3}) || w.Delay != 9) {
			t.Errorf("%+v", w)
		}
	}
	if steps := schedule(p); steps[7] != 3 {
		t.Errorf("steps are %v", steps)
	}
}

// Halving and doubling of 8 ranks and 800 B: 400, 200, 100 B with the ranks 4, 2, 1
// away, then 100, 200, 400 B with those 1, 2, 4 away. 2 log2 8 = 6 steps.
func TestHalvingDoubling(t *testing.T) {
	e := world(t, fabric(2, 4), AnyPair, units.Millisecond)
	p := generate(t, e, &HalvingDoubling{Size: 800, Order: "hosts", Repeat: 1})
	steps := schedule(p)
	distance := []int32{4, 2, 1, 1, 2, 4}
	size := []units.Bytes{400, 200, 100, 100, 200, 400}
	if len(p.Flows) != 48 {
		t.Fatalf("%d flows", len(p.Flows))
	}
	for i, f := range p.Flows {
		step := i / 8
		if steps[i] != step || f.Src != int32(i%8) || f.Dst != f.Src^distance[step] || f.Size != size[step] {
			t.Errorf("flow %d, step %d: %+v", i, steps[i], f)
		}
	}
	// Sizes that do not divide evenly still add up: every rank gets all other parts.
	p = generate(t, e, &HalvingDoubling{Size: 803, Order: "hosts", Repeat: 1})
	if got := p.bytes(); got != 2*7*803 {
		t.Errorf("%v bytes", got)
	}
}

// All-to-all of 4 ranks and 300 B: in step s rank i sends 100 B to rank i + s.
func TestAllToAll(t *testing.T) {
	e := world(t, fabric(2, 2), AnyPair, units.Millisecond)
	for parallel, last := range map[int]int{0: 0, 1: 2, 2: 1, 3: 0} {
		p := generate(t, e, &AllToAll{Size: 300, Order: "hosts", Repeat: 1, Parallel: parallel})
		steps := schedule(p)
		pairs := map[[2]int32]bool{}
		for i, f := range p.Flows {
			pairs[[2]int32{f.Src, f.Dst}] = true
			if f.Size != 100 || f.Dst != (f.Src+int32(i/4)+1)%4 {
				t.Errorf("flow %d: %+v", i, f)
			}
		}
		if len(p.Flows) != 12 || len(pairs) != 12 || steps[11] != last {
			t.Errorf("parallel %d: %d flows between %d pairs in %d steps", parallel, len(p.Flows), len(pairs), steps[11]+1)
		}
	}
	p := generate(t, e, &AllToAll{Size: 300, Order: "hosts", Repeat: 1, Parallel: 1})
	// Rank 2 in step 2: its own message of step 1 (flow 2) and the one from rank 1
	// (flow 1).
	if w := p.Waits[2]; w.Flow != 6 || !reflect.DeepEqual(w.On, []int32{2, 1}) {
		t.Errorf("%+v", w)
	}
}
