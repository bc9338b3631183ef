//go:build deep

package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/mutant"
)

// The fast engine with one mistake in its source: in the order of events at the
// same time, or in which window a node runs. The comparison with the oracle must
// find each of them. What both engines share of the order of insertion is held
// against the public simulator instead.
func TestDeepMistakesInTheEngineAreCaught(t *testing.T) {
	byKey, byInsertion, public := []string{"-run=^TestEnginesAgree$", "."}, []string{"-run=^(TestEnginesAgreeByInsertion|TestChangesArePlannedFirst|TestNodesStartInOrder)$", "."}, []string{"-run=^TestReferences$", "../internal/publicsim"}
	for _, m := range []struct {
		name, file, right, wrong string
		test                     []string
	}{
		{"classes of events in reverse", "fastnode.go", "class<<keyPortBits", "(7-class)<<keyPortBits", byKey},
		{"control frames like any other", "arrivals.go", "control := uint64(classControl)", "control := uint64(classArrival)", byKey},
		{"windows of twice the lookahead", "fast.go", "windowLength(look /", "windowLength(2 * look /", byKey},
		{"frames in the box of a window later", "boxes.go", "uint64(at-n.start)*", "uint64(at-n.start+n.length)*", byKey},
		{"boxes that reach a window too far", "boxes.go", "n.start + nearWindows*n.length", "n.start + (nearWindows+1)*n.length", byKey},
		{"wires that are not looked at again", "arrivals.go", "left |= bit", "_ = bit", byKey},
		{"the longer delay of a cable", "spec.go", "min(c.AtoB, c.BtoA)+", "max(c.AtoB, c.BtoA)+", byKey},
		{"far wakes a window late", "fast.go", "w.far[0].window <= index", "w.far[0].window < index", byKey},
		{"simultaneous arrivals by port", "insertion.go", "ranks[j-1] > r;", "false;", byInsertion},
		{"what nodes did in the order of nodes", "insertion.go", "h[i].head.before(h[j].head)", "h[i].index < h[j].index", byInsertion},
		{"ends of frames after what earlier windows planned", "insertion.go", "o.finalize(&o.frameEnds[i])", "o.frameEnds[i] = min(o.frameEnds[i], thisWindow)", byInsertion},
		{"ends of frames planned when they are wanted", "insertion.go", "moment{at, o.frameEnds[port]}", "moment{at, o.plan()}", byInsertion},
		{"timers after what earlier windows planned", "insertion.go", "o.finalize(&o.planned[i].number)", "o.planned[i].number = min(o.planned[i].number, thisWindow)", byInsertion},
		{"causes with the number of their window", "insertion.go", "o.finalize(&o.head.number)", "_ = o", byInsertion},
		{"timed changes after what earlier windows planned", "insertion.go", "o.lastChange + 1 - uint64(len(o.changes))", "thisWindow", byInsertion},
		{"nodes that start in reverse", "insertion.go", "number: uint64(i)", "number: uint64(len(nodes) - i)", byInsertion},
		{"flows that start by host", "insertion.go", "return firstStart + uint64(flow)", "return firstStart", public},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.file, m.right, m.wrong, m.test...) })
	}
}
