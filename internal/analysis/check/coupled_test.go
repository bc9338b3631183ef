package check

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/topo"
)

// coupling returns the example in which two classes share a ring, with another flow control.
func coupling(t *testing.T, flowControl string) string {
	t.Helper()
	e, err := examples.Get("dsh-ring")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(e.Text, "flow_control: {name: dsh}", "flow_control: "+flowControl, 1)
	if !strings.Contains(text, "flow_control: "+flowControl) {
		t.Fatal("the example has changed; adapt the test")
	}
	return text
}

// Each class takes two of the four turns of the ring. DSH pauses ports and the ring
// deadlocks; SIH pauses classes and all 64 flows finish. The check predicts both.
func TestPortPausesCoupleClasses(t *testing.T) {
	for _, c := range []struct {
		flowControl         string
		finished, deadlocks int
		cycles              int
	}{
		{"{name: dsh}", 0, 1, 1},
		{"{name: pfc}", 64, 0, 0},
	} {
		text := coupling(t, c.flowControl)
		built, fast := simulate(t, text)
		finished := 0
		for i := range built.Flows.Flow {
			if built.Flows.Done(i) {
				finished++
			}
		}
		deadlocks := fast.Final().Deadlocks
		if finished != c.finished || len(deadlocks) != c.deadlocks {
			t.Errorf("%s: %d flows finish, %d deadlocks; want %d, %d", c.flowControl, finished, len(deadlocks), c.finished, c.deadlocks)
		}
		for _, d := range deadlocks {
			if d.Onset < 10*units.Microsecond || d.Onset > 20*units.Microsecond {
				t.Errorf("%s: deadlock since %s", c.flowControl, d.Onset)
			}
		}
		var found []Cycle
		for _, f := range findings(runCheck(t, text, Options{Flows: true}), KindCycles) {
			found = append(found, f.Cycles...)
			if strings.Contains(f.Fix, "another lossless class") || !strings.Contains(f.Fix, "pauses single classes") {
				t.Errorf("%s: fix %q", c.flowControl, f.Fix)
			}
		}
		if len(found) != c.cycles {
			t.Errorf("%s: cycles %+v, want %d", c.flowControl, found, c.cycles)
		}
	}
}

// If everyone may send to everyone in every class, DSH has the same cycles as SIH, but moving
// traffic to another class does not help.
func TestAdviceWherePortsPause(t *testing.T) {
	for flowControl, advised := range map[string]bool{"{name: dsh}": false, "{name: pfc}": true} {
		f := findings(runCheck(t, coupling(t, flowControl), Options{}), KindCycles)
		if len(f) != 1 || strings.Contains(f[0].Fix, "another lossless class") != advised || strings.Contains(f[0].Fix, "pauses single classes") {
			t.Errorf("%s: %+v", flowControl, f)
		}
	}
}

// A ring worked out by hand, in which the ports of some switches join classes. Class 1 turns
// at switches 1 and 2, class 2 at switches 3 and 0. A cycle changes from class 1 to class 2
// where frames arrive at switch 3 from switch 2, and back where they arrive at switch 1. It
// exists if and only if these two switches join classes.
func TestJoinedPorts(t *testing.T) {
	g := graph(t, "ring", &topo.RingParams{Switches: 4, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable})
	for _, c := range []struct {
		joins string
		want  int
	}{{"", 0}, {"1", 0}, {"3", 0}, {"0 2", 0}, {"0 1 2", 0}, {"1 3", 1}, {"0 1 3", 1}, {"0 1 2 3", 1}} {
		f := NewFabric(g, nil, false)
		f.join(func(node, _ int) bool { return strings.Contains(c.joins, strings.TrimPrefix(g.Names[node], "switch")) })
		pin := func(via ...string) pinned {
			return pinned{Cause{From: via[0], To: via[2], Pinned: true}, f.route(hops(g, via...))}
		}
		one := &Traffic{Classes: 1 << 1, from: matrix(4), pins: []pinned{pin("switch0", "switch1", "switch2"), pin("switch1", "switch2", "switch3")}}
		two := &Traffic{Classes: 1 << 2, from: matrix(4), pins: []pinned{pin("switch2", "switch3", "switch0"), pin("switch3", "switch0", "switch1")}}
		found := 0
		for _, t := range f.coupled([]*Traffic{one, two}) {
			list, _ := f.Cycles(t, nil)
			found += len(list)
		}
		if found != c.want {
			t.Errorf("switches %q join classes: %d cycles, want %d", c.joins, found, c.want)
		}
		if c.want == 0 {
			continue
		}
		list, _ := f.Cycles(f.coupled([]*Traffic{one, two})[0], nil)
		var classes [][]int
		for _, h := range list[0].Hops {
			classes = append(classes, h.Cause.Classes)
		}
		if want := [][]int{{1}, {1}, {2}, {2}}; !reflect.DeepEqual(classes, want) || ring(list[0], "switch1") != "switch1 switch2 switch3 switch0" {
			t.Errorf("switches %q join classes: %+v", c.joins, list[0].Hops)
		}
		if list, _ := f.Cycles(f.coupled([]*Traffic{one, two})[0], down(t, g, "switch0-switch1")); len(list) != 0 {
			t.Errorf("with a link down: %+v", list)
		}
	}
}

// Failures with joined classes. In a tree of 4 leaves and 2 spines, class 1 runs between leaf0
// and leaf3, class 2 between leaf1 and leaf2. If leaf0 and leaf3 have one link left each, to
// different spines, class 1 goes up again at leaf1 and leaf2. Together with class 2 it forms
// the loop of Fig. 16 of the DSH paper; the same holds for leaf1 and leaf2. These are 2 + 2
// pairs of links. No class alone forms a loop after any two failures.
func TestJoinedFailuresOfTree(t *testing.T) {
	f := NewFabric(topo.LeafSpine(4, 2, 1, cable, cable), nil, false)
	f.join(func(int, int) bool { return true })
	one, two := &Traffic{Classes: 1 << 1, from: matrix(4)}, &Traffic{Classes: 1 << 2, from: matrix(4)}
	one.from[0][3], one.from[3][0], two.from[1][2], two.from[2][1] = true, true, true, true
	for _, c := range []struct {
		t    *Traffic
		want int
	}{{one, 0}, {two, 0}, {f.coupled([]*Traffic{one, two})[0], 4}} {
		got, err := f.Failures(context.Background(), c.t, 2, 2, nil, nil)
		if err != nil || got.Cyclic != c.want {
			t.Errorf("%s: %+v, %v; want %d sets", classes(c.t.Classes), got, err, c.want)
		}
	}
}

// On shortest paths, class 1 from 0 to 2 and from 1 to 3, and class 2 from 2 to 0 and from 3
// to 1, go both ways around a ring of four. There are two cycles if ports join classes, and
// none in either class alone.
func TestJoinedRing(t *testing.T) {
	g := graph(t, "ring", &topo.RingParams{Switches: 4, HostsPerSwitch: 1, HostLink: cable, FabricLink: cable})
	f := NewFabric(g, nil, false)
	f.join(func(int, int) bool { return true })
	kinds := []*Traffic{{Classes: 1 << 1, from: matrix(4)}, {Classes: 1 << 2, from: matrix(4)}}
	for from := range 4 {
		kinds[from/2].from[(from+2)%4][from] = true
	}
	both := f.coupled(kinds)[0]
	if list, _ := f.Cycles(both, nil); len(list) != 2 || !f.acyclicPerClass(both, nil) {
		t.Errorf("cycles %+v", list)
	}
}
