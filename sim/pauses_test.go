package sim_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// A stuck host blocks the flow to it, hop by hop. A frame takes 83.84 ns, a PFC frame
// 5.12 ns, a cable 1 us. Frame k reaches switch0 at 1083.84 + 83.84 k ns and switch1
// 1083.84 ns later; the host's pause arrives long before.
//   - switch1: the third frame exceeds 3000 B, at 2167.68 + 2 x 83.84 = 2335.36 ns;
//   - that pause reaches switch0 at 3340.48 ns; frame 27 is the first to wait, at
//     3347.52 ns, and frame 29 exceeds 3000 B, at 3515.20 ns.
func TestPauseTreeOfAStuckHost(t *testing.T) {
	set := []string{
		"routing.pinned=[]", "workload.ring.flows=[{from: host0, to: host1, size: 100KB}]", "output.pause_tree=true",
		"faults=[{at: 0s, host: host1, stuck: true, for: 10us}]",
	}
	for _, o := range []truthOptions{{set: set}, {set: set, oracle: true}, {set: set, Options: sim.Options{WindowDivisor: 3, Workers: 2}}} {
		r := truthOf(t, loopOfThree, o)
		type row struct {
			node, peer   string
			class        uint8
			sent         units.Time
			parent, root int
			depth        int
		}
		var got []row
		for _, p := range r.fabric.Pauses {
			names := r.built.Graph.Names
			got = append(got, row{names[p.Node], names[p.Peer.Node], p.Class, p.Sent, p.Parent, p.Root, p.Depth})
			if p.Ended == units.Never {
				t.Errorf("the pause of %s never ended", names[p.Node])
			}
		}
		want := []row{
			{"host1", "switch1", 3, 1, -1, 0, 1}, {"host1", "switch1", 4, 1, -1, 1, 1},
			{"switch1", "switch0", 3, 2335360, 0, 0, 2}, {"switch0", "host0", 3, 3515200, 2, 0, 3},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %+v, want %+v", o, got, want)
		}
	}
}

// In random rings both engines build the same trees. A pause is one deeper than its cause.
// The cause was sent earlier, by the downstream node, and was still in effect.
func TestRandomPauseTrees(t *testing.T) {
	deepest := 0
	for i := range 12 {
		set := []string{"output.pause_tree=true", "run.stop.at_most=300us"}
		r := truthOf(t, drawLoop(i), truthOptions{set: set})
		list := r.fabric.Pauses
		for id, p := range list {
			deepest = max(deepest, p.Depth)
			if p.Parent < 0 {
				if p.Depth != 1 || p.Root != id {
					t.Errorf("case %d: root %d: %+v", i, id, p)
				}
				continue
			}
			cause := list[p.Parent]
			if p.Depth != cause.Depth+1 || p.Root != cause.Root || cause.Peer.Node != p.Node || cause.Sent >= p.Sent || cause.Class != p.Class {
				t.Errorf("case %d: pause %d: %+v because of %+v", i, id, p, cause)
			}
			// A RESUME may still be in flight, for at most 3 us plus processing.
			if cause.Ended != units.Never && cause.Ended+4*units.Microsecond < p.Sent {
				t.Errorf("case %d: pause %d at %s because of one that ended at %s", i, id, p.Sent, cause.Ended)
			}
		}
		if o := truthOf(t, drawLoop(i), truthOptions{set: set, oracle: true}); !reflect.DeepEqual(o.fabric.Pauses, list) {
			t.Errorf("case %d: the engines differ", i)
		}
		if n := uint64(len(list)); n != sumPauses(&r.fabric) {
			t.Errorf("case %d: %d pauses in trees, %d counted", i, n, sumPauses(&r.fabric))
		}
	}
	if deepest < 4 {
		t.Errorf("no tree is deeper than %d, want at least 4", deepest)
	}
}

func sumPauses(f *sim.Counters) (n uint64) {
	for _, p := range f.Ports {
		for _, c := range p.Stats.Pauses {
			n += c
		}
	}
	return n
}
