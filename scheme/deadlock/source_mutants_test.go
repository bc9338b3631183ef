package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Roundabout with one rule removed from its source. These rules cannot be removed from outside,
// as in TestDeepRoundaboutMutants (docs/deadlock.md).
func TestDeepMistakesInRoundaboutAreCaught(t *testing.T) {
	tests := func(name string) []string { return []string{"-run=^" + name + "$", "."} }
	explored, detects := tests("TestElectionExplored"), tests("TestRoundaboutDetectsWhatIs")
	deep := func(name, folder string) []string { return []string{"-tags=deep", "-run=^" + name + "$", folder} }
	concurrent, loops := tests("TestRoundaboutConcurrentLoops"), deep("TestDeepRoundaboutMutantOfNothing", ".")
	order := deep("TestDeepRoundaboutOrder", ".")
	credit, marks := tests("TestCreditWithLittleRoom"), tests("TestRoundaboutOrderEndsWithAGivenUpRound")
	mesh := deep("TestDeepRoundaboutInAMeshOfLoops", "../../run")
	classes := []string{"-run=^TestRoundaboutInAMeshOfClasses$", "../../run"}
	var group mutant.Group
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"ties between equal numbers are not broken", "Tuple.Before", "cmp.Compare(t.Sid, u.Sid), cmp.Compare(t.Qid, u.Qid)", "0, 0", explored},
		{"tuples of an earlier pause count", "Election.ignores", "t.Sid == e.Sid && t.Qid == e.Qid && t.Rand != e.Init.Rand", "false", detects},
		{"any waiting frame makes a queue stuck", "roundabout.stuckOn", "return waits > 0 && (", "return waits > 0 && (true || ", detects},
		{"no queue becomes stuck by time", "roundabout.stuckOn", "now-h.at(in, class).mixed >= h.params.Mixed", "false", concurrent},
		{"locks never expire", "roundabout.overdue", "h.lock.on && h.lock.until <= now", "false", concurrent},
		{"only one candidate asks", "roundabout.overdue", "\t\t\th.askAnother(now)\n", "\t\t\th.askAgain(now, l.in, l.class)\n", concurrent},
		{"headroom is returned late", "roundabout.repay", "q.Reserve != 0 || h.unused(b.by, class) < 0:", "q.Reserve+q.Headroom != 0:", concurrent},
		{"lent queues wait for room for ever", "roundabout.repay", "(!h.scarce() || now-b.repaid >= h.params.Timeout && h.others(class))", "!h.scarce()", classes},
		{"lent queues never wait long for room", "roundabout.repay", " && h.others(class)", "", tests("TestRoundaboutGoesOnWithLittleRoom")},
		{"a check does not wait for the barrier", "roundabout.check", "case at > 0 && r.home:", "case at > 0:", loops},
		{"there is only one round", "roundabout.again", "!open && l.rounds >= h.params.Rounds", "!open", loops},
		{"frames that missed their exit do not move on", "roundabout.Departing", "r.home && !r.moving || r.stopped", "r.home", mesh},
		{"lent headroom is not passed on", "roundabout.endLoan", "own, h.floor()+h.params.Redundant", "own, 1<<40", mesh},
		{"a locked queue is resumed", "roundabout.locks", "\th.hold(now, in)\n", "", mesh},
		{"a round may run out of credit", "roundabout.grant", "r.granted-r.arrived < uint64(r.longest)", "false", credit},
		{"a round without room does not start", "roundabout.grant", "!r.invited || ", "", credit},
		{"lent headroom holds no barrier", "roundabout.insert", "+h.loans(r.in, r.class)", "", tests("TestBarrierWithoutSharedBuffer")},
		{"rounds never time out", "roundabout.roundOverdue", "now-r.moved < patience", "r.on", tests("TestRoundaboutGivenUp")},
		{"marks outlive a round that is given up", "roundabout.roundOverdue", "p.Flags &^= packet.Marked\n", "", marks},
		{"frames that missed their exit are not counted", "roundabout.roundOverdue", "lost := r.displaced", "lost := int64(0)", order},
		{"marked frames that arrive later keep their mark", "roundabout.Arriving", "if p.Flags&packet.Marked != 0 { //", "if false { //", order},
		{"marked frames that arrive later are not awaited", "roundabout.roundOverdue", "h.s.ArmIngress(r.in, packet.MaskOf(r.class))", "", order},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, m.test...)
	}
	group.MustCatch(t)
}
