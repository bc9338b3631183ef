package sched

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// serve lets a scheduler send frames of the given sizes, by class, all classes
// in mask always backlogged, and returns the order.
func serve(s Scheduler, mask uint8, sizes map[int]units.Bytes, n int) []int {
	var order []int
	for range n {
		c := s.Pick(mask)
		order = append(order, c)
		s.Sent(c, sizes[c], false)
	}
	return order
}

func TestSequences(t *testing.T) {
	params := Params{Strict: 1}
	params.Quantum[1], params.Quantum[2] = 1000, 2000
	sizes := map[int]units.Bytes{0: 64, 1: 1000, 2: 1000, 3: 500}
	for _, c := range []struct {
		name string
		new  New
		mask uint8
		want []int
	}{
		{"strict", newStrict, 0b110, []int{1, 1, 1, 1, 1, 1}},
		{"rr", newRR, 0b110, []int{1, 2, 1, 2, 1, 2}},
		{"rr, strict class first", newRR, 0b111, []int{0, 0, 0, 0, 0, 0}},
		{"rr, one class", newRR, 0b100, []int{2, 2, 2, 2, 2, 2}},
		// 1000 B for class 1, then 2000 B for class 2.
		{"dwrr", newDWRR, 0b110, []int{1, 2, 2, 1, 2, 2}},
	} {
		if got := serve(c.new(params), c.mask, sizes, 6); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Frames of 1500 B on quanta of 1000 B: a class overdraws and sits out.
// Class 1: +1000, sends, -500; +1000 = 500 in the next round, sends, -1000;
// +1000 = 0 is not positive: out; +1000 = 1000. Class 2 likewise: two frames in
// three rounds each.
func TestDWRROverdraws(t *testing.T) {
	p := Params{}
	p.Quantum[1], p.Quantum[2] = 1000, 1000
	s := newDWRR(p)
	got := serve(s, 0b110, map[int]units.Bytes{1: 1500, 2: 1500}, 6)
	if want := []int{1, 2, 1, 2, 1, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Small frames of class 2 make up for the large ones of class 1: 3000 B each.
	s = newDWRR(p)
	got = serve(s, 0b110, map[int]units.Bytes{1: 1500, 2: 500}, 8)
	// 1: 1000-1500=-500 | 2: two of 500 | 1: 500-1500=-1000 | 2: two | 1: 0, out | 2: two | 1: 1000.
	if want := []int{1, 2, 2, 1, 2, 2, 2, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A class that empties starts from zero; one that is paused keeps its deficit.
func TestDWRRKeepsAndForgets(t *testing.T) {
	p := Params{}
	p.Quantum[1], p.Quantum[2] = 2000, 1000
	s := newDWRR(p)
	if c := s.Pick(0b110); c != 1 { // class 1 has 2000 B
		t.Fatal(c)
	}
	s.Sent(1, 1000, false)          // 1000 B left
	if c := s.Pick(0b100); c != 2 { // class 1 is paused
		t.Fatal(c)
	}
	s.Sent(2, 1000, false)
	// Resumed: it is class 2's turn, with nothing left; class 1 uses its 1000 B
	// before it gets a new quantum: 1 with the rest, then 2 with a new quantum.
	if got := serve(s, 0b110, map[int]units.Bytes{1: 1000, 2: 1000}, 2); !reflect.DeepEqual(got, []int{1, 2}) {
		t.Errorf("%v, want [1 2]", got)
	}
	s = newDWRR(p)
	s.Pick(0b110)
	s.Sent(1, 1000, true) // emptied: the other 1000 B are forgotten
	s.Pick(0b100)
	s.Sent(2, 1000, false)
	if got := serve(s, 0b110, map[int]units.Bytes{1: 1000, 2: 1000}, 4); !reflect.DeepEqual(got, []int{2, 1, 1, 2}) {
		t.Errorf("%v, want [2 1 1 2]", got)
	}
	// A debt is forgotten, too. Quanta of 1000 B: class 1 sends 3000 B and is empty, so
	// 0 instead of -2000; it gets 1000 while 2 uses what it has, then 1 sends.
	p.Quantum[1] = 1000
	s = newDWRR(p)
	s.Pick(0b110)
	s.Sent(1, 3000, true)
	if got := serve(s, 0b110, map[int]units.Bytes{1: 1000, 2: 1000}, 2); !reflect.DeepEqual(got, []int{2, 1}) {
		t.Errorf("%v, want [2 1]", got)
	}
}
