package workload

import (
	"reflect"
	"testing"
)

// Every rule permits exactly the pairs it describes.
func TestPairs(t *testing.T) {
	f := fabric(4, 3)
	for rule, allowed := range []func(a, b int32) bool{
		AnyPair:    func(a, b int32) bool { return a != b },
		OtherRack:  func(a, b int32) bool { return f.Rack[a] != f.Rack[b] },
		SameRack:   func(a, b int32) bool { return a != b && f.Rack[a] == f.Rack[b] },
		NextRack:   func(a, b int32) bool { return (f.Rack[a]+1)%4 == f.Rack[b] },
		OtherGroup: func(a, b int32) bool { return f.Group[a] != f.Group[b] },
		SameGroup:  func(a, b int32) bool { return a != b && f.Group[a] == f.Group[b] },
		Matched:    func(a, b int32) bool { return a+6 == b },
	} {
		from, to := f.All(), f.All()
		if Rule(rule) == Matched {
			from, to = from[:6], to[6:]
		}
		p, err := NewPairs(f, Rule(rule), from, to)
		if err != nil {
			t.Fatal(err)
		}
		r := Stream(1, "pairs")
		for _, a := range from {
			seen := map[int32]int{}
			for range 600 {
				seen[p.Destination(r, a)]++
			}
			want := 0
			for _, b := range to {
				if allowed(a, b) {
					want++
				}
				if allowed(a, b) != (seen[b] > 0) {
					t.Errorf("%s: host%d to host%d %d times", RuleNames[rule], a, b, seen[b])
				}
			}
			if p.Destinations(a) != want || len(seen) != want {
				t.Errorf("%s: host%d has %d destinations; want %d", RuleNames[rule], a, p.Destinations(a), want)
			}
		}
		for _, b := range to {
			seen := map[int32]int{}
			for range 600 {
				seen[p.SourceFor(r, b)]++
			}
			for _, a := range from {
				if allowed(a, b) != (seen[a] > 0) {
					t.Errorf("%s: host%d from host%d %d times", RuleNames[rule], b, a, seen[a])
				}
			}
			if p.Sources(b) != len(seen) {
				t.Errorf("%s: host%d has %d sources; want %d", RuleNames[rule], b, p.Sources(b), len(seen))
			}
		}
	}
}

// Hosts without a partner are left out; if no host has one, it is an error.
func TestPairsNobody(t *testing.T) {
	f := fabric(2, 2)
	p, err := NewPairs(f, OtherRack, f.All(), []int32{0, 1})
	if err != nil || !reflect.DeepEqual(p.From, []int32{2, 3}) {
		t.Errorf("%v send: %v", p.From, err)
	}
	for name, c := range map[string]struct {
		rule     Rule
		from, to []int32
	}{
		"one host":  {AnyPair, []int32{1}, []int32{1}},
		"one rack":  {OtherRack, []int32{0, 1}, []int32{0, 1}},
		"two racks": {SameRack, []int32{0, 1}, []int32{2, 3}},
		"uneven":    {Matched, []int32{0, 1}, []int32{2}},
		"oneself":   {Matched, []int32{0, 1}, []int32{0, 1}},
		"one group": {OtherGroup, nil, nil},
	} {
		if c.from == nil {
			c.from, c.to = f.All(), f.All()
		}
		if _, err := NewPairs(f, c.rule, c.from, c.to); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
