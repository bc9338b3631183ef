package metrics

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

func TestGroups(t *testing.T) {
	o := outcome()
	s := o.Summarize()
	// In web, flow 1 is measured: 10,000 B, the first bucket. In incast, flow 2 is in the
	// second bucket and the unfinished flow 3 (5000 B) in the first.
	web, incast := s.Workloads[0].Sizes, s.Workloads[1].Sizes
	if len(web) != 5 || web[0].Name != "up to 10KB" || web[0].Finished != 1 || web[0].FCT.Max != 100 || web[1].FCT != nil {
		t.Errorf("web by size: %+v", web)
	}
	if incast[0].Measured != 1 || incast[0].Unfinished != 1 || incast[0].FCT != nil || incast[1].Slowdown.Max != 3 {
		t.Errorf("incast by size: %+v", incast)
	}
	if s.Classes != nil {
		t.Error("classes without group_by: class")
	}

	o.Grouping = Grouping{By: "class", Sizes: []units.Bytes{5000}}
	s = o.Summarize()
	// Measured: flow 1 of class 2, flow 2 of class 1, flow 3 of class 3.
	if len(s.Classes) != 3 || s.Classes[0].Name != "class 1" || s.Classes[0].FCT.Max != 300 || s.Classes[2].Unfinished != 1 {
		t.Errorf("classes: %+v", s.Classes)
	}
	if c := s.Classes[2].Sizes; len(c) != 2 || c[0].Measured != 1 || c[1].Name != "over 5KB" || c[1].Measured != 0 {
		t.Errorf("class 3 by size: %+v", c)
	}
	if s.Workloads[0].Sizes != nil {
		t.Error("workloads by size with group_by: class")
	}

	o.Grouping = Grouping{By: "none"}
	if s = o.Summarize(); len(s.Sizes) != 1 || s.Sizes[0].Name != "all" || s.Sizes[0].Measured != 3 {
		t.Errorf("without buckets: %+v", s.Sizes)
	}
}

func TestPauseDepths(t *testing.T) {
	p := outcome().Summarize().Pauses
	if p.MaxDepth != 3 || !slices.Equal(p.Depths, []uint64{2, 0, 1}) {
		t.Errorf("got %+v, want 2 pauses of depth 1, none of 2, 1 of 3", p)
	}
	if p := (&Outcome{Flows: dataplane.NewFlows(nil), Measured: func(int) bool { return true }}).Summarize().Pauses; p.MaxDepth != 0 || p.Depths == nil || len(p.Depths) != 0 {
		t.Errorf("without pauses: %+v", p)
	}
}

// The result equals a simple computation: filter, then compute.
func TestGroupsAgainstFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 500
	list := make([]dataplane.Flow, n)
	o := &Outcome{Workloads: []string{"a", "b", "c"}, Grouping: DefaultGrouping(), Payloads: []units.Bytes{1000}, Measured: func(i int) bool { return i%7 != 0 }}
	for i := range list {
		list[i] = dataplane.Flow{Size: 1 + units.Bytes(r.IntN(1<<(10+r.IntN(15)))), Class: uint8(r.IntN(8))}
		o.Origin = append(o.Origin, int32(r.IntN(3)))
		o.Ideal = append(o.Ideal, 1+units.Time(r.IntN(100)))
	}
	o.Flows = dataplane.NewFlows(list)
	for i := range list {
		if r.IntN(10) > 0 {
			o.Flows.Send[i].Acked = 1 + units.Time(r.IntN(1_000_000))
		}
	}
	plain := func(name string, want func(i int) bool) Part {
		p := Part{Name: name}
		var fcts []units.Time
		var slow []float64
		moved := volume{first: units.Never}
		for i := range list {
			if !o.Measured(i) || !want(i) {
				continue
			}
			p.Measured++
			moved.add(o, i)
			if fct, done := o.fct(i); done {
				fcts, slow = append(fcts, fct), append(slow, o.slowdown(i, fct))
			}
		}
		p.Finished, p.Unfinished = len(fcts), p.Measured-len(fcts)
		p.FCT, p.Slowdown, p.Throughput = timesOf(fcts), ratiosOf(slow), moved.sum()
		return p
	}
	limits := append(slices.Clone(o.Grouping.Sizes), units.Bytes(1)<<60)
	in := func(i, b int) bool {
		return list[i].Size <= limits[b] && (b == 0 || list[i].Size > limits[b-1])
	}
	names := sizeNames(o.Grouping.Sizes)
	s := o.Summarize()
	for b := range limits {
		if want := plain(names[b], func(i int) bool { return in(i, b) }); !reflect.DeepEqual(s.Sizes[b], want) {
			t.Errorf("size %d: got %+v, want %+v", b, s.Sizes[b], want)
		}
	}
	for w, name := range o.Workloads {
		want := plain(name, func(i int) bool { return int(o.Origin[i]) == w })
		for b := range limits {
			want.Sizes = append(want.Sizes, plain(names[b], func(i int) bool { return int(o.Origin[i]) == w && in(i, b) }))
		}
		if !reflect.DeepEqual(s.Workloads[w], want) {
			t.Errorf("workload %s: got %+v, want %+v", name, s.Workloads[w], want)
		}
	}
}
