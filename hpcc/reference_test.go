package hpcc

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/xoff-net/xoff/units"
)

// reference is a run of the public simulator in short: what went in, and when the
// flows were complete.
type reference struct {
	*Input
	fct map[string][]units.Time // by algorithm
}

// readReference reads the short form of testdata.
func readReference(t *testing.T, name string) *reference {
	t.Helper()
	x, err := open("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	number := func(w word) int {
		n, err := strconv.Atoi(w.text)
		if err != nil {
			t.Fatalf("%s:%d: %v", name, w.line, err)
		}
		return n
	}
	r := &reference{Input: &Input{Settings: defaults(name)}, fct: map[string][]units.Time{}}
	shape := x.lines[0]
	if shape[0].text == "star" {
		r.Fabric = star(number(shape[1]))
	} else {
		r.Fabric = leafSpine(number(shape[1]), number(shape[3]), number(shape[5]))
	}
	r.Settings.BufferMB = int64(number(x.lines[1][1]))
	r.Settings.ECN = []Marking{{Rate: 100 * units.Gbps, Kmin: 400_000, Kmax: 1_600_000, Pmax: 0.2}}
	earlier := map[[2]int]int{}
	for _, l := range x.lines[2:] {
		f := Flow{Src: number(l[0]), Dst: number(l[1]), Class: 3, DstPort: number(l[2]), Size: units.Bytes(number(l[3])), Start: units.Time(number(l[4])) * units.Nanosecond}
		pair := [2]int{f.Src, f.Dst}
		f.SrcPort = firstPort + earlier[pair]
		earlier[pair]++
		r.Flows = append(r.Flows, f)
		for i, a := range []string{"hpcc", "powertcp", "dcqcn"} {
			if 5+i < len(l) {
				r.fct[a] = append(r.fct[a], units.Time(number(l[5+i]))*units.Nanosecond)
			}
		}
	}
	return r
}

func (f *Fabric) add(a, b int) {
	f.Links = append(f.Links, Link{A: a, B: b, Rate: 100 * units.Gbps, Delay: units.Microsecond})
}

func star(hosts int) *Fabric {
	f := &Fabric{Nodes: hosts + 1, Switch: make([]bool, hosts+1)}
	f.Switch[hosts] = true
	for h := range hosts {
		f.add(h, hosts)
	}
	return f
}

func leafSpine(leaves, spines, perLeaf int) *Fabric {
	hosts := leaves * perLeaf
	f := &Fabric{Nodes: hosts + leaves + spines, Switch: make([]bool, hosts+leaves+spines)}
	for n := hosts; n < f.Nodes; n++ {
		f.Switch[n] = true
	}
	for h := range hosts {
		f.add(h, hosts+h/perLeaf)
	}
	for l := range leaves {
		for s := range spines {
			f.add(hosts+l, hosts+leaves+s)
		}
	}
	return f
}

// agree checks that every flow completes at the same nanosecond as in the public
// simulator.
func agree(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		r := readReference(t, name)
		for algorithm, want := range r.fct {
			for _, engine := range []Engine{Oracle, Fast} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, algorithm, engine), func(t *testing.T) {
					run, err := r.simulate(context.Background(), algorithm, engine, 1)
					if err != nil {
						t.Fatal(err)
					}
					exact := 0
					for i := range want {
						if got := run.Flows.Send[i].Acked - r.Flows[i].Start; got == want[i] {
							exact++
						} else if i-exact < 3 {
							t.Errorf("flow %d takes %s, the public simulator's %s", i, got, want[i])
						}
					}
					if exact < len(want) {
						t.Errorf("%d of %d flows are exact", exact, len(want))
					}
				})
			}
		}
	}
}

func TestReferences(t *testing.T) { agree(t, "S1", "S2_64KB", "S2_1MB", "S2P_1MB") }
