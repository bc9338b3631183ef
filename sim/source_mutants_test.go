package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// The fast engine with one mistake in its source: in the order of events at the
// same time, or in which window a node runs. The comparison with the oracle must
// find each of them. What both engines share of the order of insertion is compared with
// the public simulator instead.
func TestDeepMistakesInTheEngineAreCaught(t *testing.T) {
	byKey, byInsertion, public := []string{"-run=^TestEnginesAgree$", "."}, []string{"-run=^(TestEnginesAgreeByInsertion|TestChangesArePlannedFirst|TestNodesStartInOrder)$", "."}, []string{"-run=^TestReferences$", "../internal/interop/publicsim"}
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"classes of events in reverse", "key", "class<<keyPortBits", "(7-class)<<keyPortBits", byKey},
		{"control frames like any other", "arrivals.gather", "control := uint64(classControl)", "control := uint64(classArrival)", byKey},
		{"windows of twice the lookahead", "NewFast", "windowLength(look /", "windowLength(2 * look /", byKey},
		{"frames in the box of a window later", "near.of", "uint64(at-n.start)*", "uint64(at-n.start+n.length)*", byKey},
		{"boxes that reach a window too far", "near.begin", "n.start + nearWindows*n.length", "n.start + (nearWindows+1)*n.length", byKey},
		{"wires that are not looked at again", "arrivals.gatherFar", "left |= bit", "_ = bit", byKey},
		{"the longer delay of a cable", "Spec.lookahead", "min(c.AtoB, c.BtoA)+", "max(c.AtoB, c.BtoA)+", byKey},
		{"far wakes a window late", "worker.due", "w.far[0].window <= index", "w.far[0].window < index", byKey},
		{"simultaneous arrivals by port", "orderedNode.sortTies", "ranks[j-1] > r;", "false;", byInsertion},
		{"what nodes did in the order of nodes", "heads.Less", "h[i].head.before(h[j].head)", "h[i].index < h[j].index", byInsertion},
		{"ends of frames after what earlier windows planned", "orderedNode.numberPlanned", "o.finalize(&o.frameEnds[i])", "o.frameEnds[i] = min(o.frameEnds[i], thisWindow)", byInsertion},
		{"ends of frames planned when they are wanted", "orderedNode.ArmTx", "moment{at, o.frameEnds[port]}", "moment{at, o.plan()}", byInsertion},
		{"timers after what earlier windows planned", "orderedNode.numberPlanned", "o.finalize(&o.planned[i].number)", "o.planned[i].number = min(o.planned[i].number, thisWindow)", byInsertion},
		{"causes with the number of their window", "orderedNode.advance", "o.finalize(&o.head.number)", "_ = o", byInsertion},
		{"timed changes after what earlier windows planned", "orderedNode.armChange", "o.lastChange + 1 - uint64(len(o.changes))", "thisWindow", byInsertion},
		{"nodes that start in reverse", "newPlanner", "number: uint64(i)", "number: uint64(len(nodes) - i)", byInsertion},
		{"flows that start by host", "startOf", "return firstStart + uint64(flow)", "return firstStart", public},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.function, m.right, m.wrong, m.test...) })
	}
}

// The search for deadlock with one mistake.
func TestDeepMistakesAboutDeadlockAreCaught(t *testing.T) {
	rings := []string{"-run=^(TestRandomLoops|TestSearchOften|TestLoopCloses|TestPausedInACircleIsNoDeadlock)$", "."}
	trees := []string{"-run=^(TestPauseTreeOfAStuckHost|TestRandomPauseTrees)$", "."}
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"a RESUME on its way is overlooked", "deadlockSearch.reduce", "q.since <= t && !q.free", "q.since <= t", rings},
		{"hosts never take anything", "deadlockSearch.reduce", "if q.in && x.sw(x.peers[q.Node][q.Port].Node) == nil {", "if false {", rings},
		{"thresholds as they are now", "deadlockSearch.reduceAt", "rest.View = x.rests[i].View()", "rest.View = s.View()", rings},
		{"a queue is looked at though none of its frames leave", "deadlockSearch.favour", "|| all.Total() != b {", "|| all.Total() >= b {", rings},
		{"everything counts that is held", "deadlockSearch.reduceAt", "		if q.in {\n			for _, l", "		if true {\n			for _, l", rings},
		{"frames that came later count", "deadlockSearch.dateBetween", "if f.came <= t {", "if f.came <= x.now {", rings},
		{"the time of the last departure is lost", "sihReceiver.Released", "	r.quiet[a.Class&7] = now\n	in :=", "	in :=", []string{"-run=^TestResumes$", "../scheme/flowctl"}},
		{"the first pause that was sent is the cause", "parent", "sent[n-1]", "sent[0]", trees},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.function, m.right, m.wrong, m.test...) })
	}
}
