package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Roundabout with one of the rules that were decided taken out of its source, those that
// TestDeepRoundaboutMutants does not reach from outside (docs/deadlock.md).
func TestDeepMistakesInRoundaboutAreCaught(t *testing.T) {
	tests := func(name string) []string { return []string{"-run=^" + name + "$", "."} }
	explored, detects := tests("TestElectionExplored"), tests("TestRoundaboutDetectsWhatIs")
	concurrent, loops := tests("TestRoundaboutConcurrentLoops"), tests("TestRoundaboutMutantOfNothing")
	mesh := []string{"-tags=deep", "-run=^TestDeepRoundaboutInAMeshOfLoops$", "../../run"}
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"equal numbers are not told apart", "Tuple.Before", "cmp.Compare(t.Sid, u.Sid), cmp.Compare(t.Qid, u.Qid)", "0, 0", explored},
		{"tuples of an earlier pause count", "Election.ignores", "t.Sid == e.Sid && t.Qid == e.Qid && t.Rand != e.Init.Rand", "false", detects},
		{"any frame makes a queue stuck", "roundabout.stuckOn", "return waits > 0 && (", "return waits > 0 && (true || ", detects},
		{"no time makes a queue stuck", "roundabout.stuckOn", "now-h.at(in, class).mixed >= h.params.Mixed", "false", concurrent},
		{"locks last for ever", "roundabout.overdue", "h.lock.on && h.lock.until <= now", "false", concurrent},
		{"only one candidate asks", "roundabout.overdue", "\t\t\th.askAnother(now)\n", "\t\t\th.askAgain(now, l.in, l.class)\n", concurrent},
		{"headroom is given back late", "roundabout.repay", "h.unused(b.by, b.class) >= 0", "q.Headroom == 0", concurrent},
		{"a check does not wait for the barrier", "roundabout.check", "case at > 0 && r.home:", "case at > 0:", loops},
		{"there is one round", "roundabout.again", "!open && l.rounds >= h.params.Rounds", "!open", loops},
		{"what missed its exit stays where it began", "roundabout.Departing", "r.home && !r.moving || r.stopped", "r.home", mesh},
		{"lent headroom is not handed on", "roundabout.endLoan", "own, h.floor()+h.params.Redundant", "own, 1<<40", mesh},
		{"what is locked is resumed", "roundabout.locks", "\th.s.HoldResume(now, in, 1<<hdr.Class)\n", "", mesh},
		{"a round may be left without a frame of credit", "roundabout.grant", "r.granted-r.arrived < uint64(r.longest)", "false", tests("TestRoundaboutGoesOnWithLittleRoom")},
		{"rounds last for ever", "roundabout.roundOverdue", "now-r.moved < patience", "r.on", tests("TestRoundaboutGivenUp")},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.function, m.right, m.wrong, m.test...) })
	}
}
