package sched

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// serve lets a scheduler send n frames of the given sizes by class. All classes in mask are
// always backlogged. It returns the order.
func serve(s Scheduler, mask packet.ClassMask, sizes map[int]units.Bytes, n int) []int {
	var order []int
	for range n {
		c := s.Pick(mask)
		order = append(order, c)
		s.Sent(c, sizes[c], false)
	}
	return order
}

// quanta returns parameters with quanta for classes 1 and 2.
func quanta(one, two units.Bytes) *DWRRParams {
	return &DWRRParams{Quantum: DefaultQuantum, Quanta: map[int]units.Bytes{1: one, 2: two}}
}

func must(s Scheduler, err error) Scheduler {
	if err != nil {
		panic(err)
	}
	return s
}

func TestSequences(t *testing.T) {
	env, params := Env{Strict: 1, Served: 0xfe}, quanta(1000, 2000)
	sizes := map[int]units.Bytes{0: 64, 1: 1000, 2: 1000, 3: 500}
	for _, c := range []struct {
		name string
		new  New
		mask packet.ClassMask
		want []int
	}{
		{"strict", newStrict, 0b110, []int{1, 1, 1, 1, 1, 1}},
		{"strict, a strict class first", newStrict, 0b111, []int{0, 0, 0, 0, 0, 0}},
		{"rr", newRR, 0b110, []int{1, 2, 1, 2, 1, 2}},
		{"rr, strict class first", newRR, 0b111, []int{0, 0, 0, 0, 0, 0}},
		{"rr, one class", newRR, 0b100, []int{2, 2, 2, 2, 2, 2}},
		// 1000 B for class 1, then 2000 B for class 2.
		{"dwrr", newDWRR, 0b110, []int{1, 2, 2, 1, 2, 2}},
	} {
		if got := serve(must(c.new(params, env)), c.mask, sizes, 6); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Frames of 1500 B with quanta of 1000 B: a class overdraws and skips a round.
// Class 1: +1000, sends, -500; +1000 = 500 in the next round, sends, -1000; +1000 = 0 is not
// positive: skips; +1000 = 1000. Class 2 does the same: two frames in three rounds each.
func TestDWRROverdraws(t *testing.T) {
	p := quanta(1000, 1000)
	s := must(newDWRR(p, Env{Served: 0xff}))
	got := serve(s, 0b110, map[int]units.Bytes{1: 1500, 2: 1500}, 6)
	if want := []int{1, 2, 1, 2, 1, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Small frames of class 2 make up for the large ones of class 1: 3000 B each.
	s = must(newDWRR(p, Env{Served: 0xff}))
	got = serve(s, 0b110, map[int]units.Bytes{1: 1500, 2: 500}, 8)
	// 1: 1000-1500=-500 | 2: two of 500 | 1: 500-1500=-1000 | 2: two | 1: 0, out | 2: two | 1: 1000.
	if want := []int{1, 2, 2, 1, 2, 2, 2, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A class that empties starts again from zero; a paused class keeps its deficit.
func TestDWRRKeepsAndForgets(t *testing.T) {
	p := quanta(2000, 1000)
	s := must(newDWRR(p, Env{Served: 0xff}))
	if c := s.Pick(0b110); c != 1 { // class 1 has 2000 B
		t.Fatal(c)
	}
	s.Sent(1, 1000, false)          // 1000 B left
	if c := s.Pick(0b100); c != 2 { // class 1 is paused
		t.Fatal(c)
	}
	s.Sent(2, 1000, false)
	// Resumed: it is class 2's turn, with nothing left. Class 1 uses its 1000 B before it gets
	// a new quantum: class 1 with the rest, then class 2 with a new quantum.
	if got := serve(s, 0b110, map[int]units.Bytes{1: 1000, 2: 1000}, 2); !reflect.DeepEqual(got, []int{1, 2}) {
		t.Errorf("%v, want [1 2]", got)
	}
	s = must(newDWRR(p, Env{Served: 0xff}))
	s.Pick(0b110)
	s.Sent(1, 1000, true) // emptied: the other 1000 B are discarded
	s.Pick(0b100)
	s.Sent(2, 1000, false)
	if got := serve(s, 0b110, map[int]units.Bytes{1: 1000, 2: 1000}, 4); !reflect.DeepEqual(got, []int{2, 1, 1, 2}) {
		t.Errorf("%v, want [2 1 1 2]", got)
	}
	// A debt is discarded, too. Quanta of 1000 B: class 1 sends 3000 B and is empty, so it has
	// 0 instead of -2000. It gets 1000 while class 2 uses its rest, then class 1 sends.
	p = quanta(1000, 1000)
	s = must(newDWRR(p, Env{Served: 0xff}))
	s.Pick(0b110)
	s.Sent(1, 3000, true)
	if got := serve(s, 0b110, map[int]units.Bytes{1: 1000, 2: 1000}, 2); !reflect.DeepEqual(got, []int{2, 1}) {
		t.Errorf("%v, want [2 1]", got)
	}
}

// Strict classes go first even if they have higher numbers than others.
func TestStrictFirst(t *testing.T) {
	s := must(newStrict(nil, Env{Strict: 0b1000, Served: 0b0110}))
	if got := serve(s, 0b1110, nil, 2); !reflect.DeepEqual(got, []int{3, 3}) {
		t.Errorf("%v, want [3 3]", got)
	}
	if got := serve(s, 0b0110, nil, 2); !reflect.DeepEqual(got, []int{1, 1}) {
		t.Errorf("%v, want [1 1]", got)
	}
}
