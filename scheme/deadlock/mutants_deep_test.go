//go:build deep

package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/mutant"
)

// Roundabout with one of the rules that were decided taken out of its source (docs/deadlock.md).
func TestDeepMistakesInRoundaboutAreCaught(t *testing.T) {
	tests := func(names string) []string { return []string{"-run=^(" + names + ")$", "."} }
	explored, detects, concurrent := tests("TestElectionExplored"), tests("TestRoundaboutDetectsWhatIs"), tests("TestRoundaboutConcurrentLoops")
	loops := tests("TestRoundaboutRings|TestRoundaboutRandomLoops|TestRoundaboutGivenUp")
	for _, m := range []struct {
		name, file, right, wrong string
		test                     []string
	}{
		{"tuples of an earlier pause count", "election.go", "t.Sid == e.Sid && t.Qid == e.Qid && t.Rand != e.Init.Rand", "false", explored},
		{"a number is drawn once", "election.go", "Tuple{Rand: rand, Sid: e.Sid,", "Tuple{Rand: uint32(e.Sid), Sid: e.Sid,", explored},
		{"equal numbers are not told apart", "election.go", "cmp.Compare(t.Sid, u.Sid), cmp.Compare(t.Qid, u.Qid)", "0, 0", explored},
		{"questions pass queues that are not stuck", "election.go", "case !e.Off || !stuck:", "case !e.Off:", explored},
		{"questions pass again and again", "election.go", "slices.Contains(e.Passed[:], Question{t, round})", "false", explored},
		{"answers to earlier questions count", "election.go", "!e.Asking || round != e.Round", "!e.Asking", explored},
		{"a coordinator stays one", "election.go", "\tcase !e.Candidate:\n\t\te.Asking, e.Confirmed = false, false\n", "\tcase !e.Candidate:\n\t\te.Asking = false\n", explored},
		{"a candidate gives way to any other", "election.go", "e.Asking && !t.Before(e.Init)", "false", explored},
		{"a coordinator gives way", "election.go", "case e.Confirmed || ", "case ", explored},
		{"any frame makes a queue stuck", "roundabout.go", "return waits > 0 && (", "return waits > 0 || (", detects},
		{"no time makes a queue stuck", "roundabout.go", "now-h.at(in, class).mixed >= h.params.Mixed", "false", loops},
		{"a loop is locked twice", "roundabout_table.go", "if h.round.on || l.on && (l.built || !t.Same(l.t) && !t.Before(l.t)) {", "if h.round.on {", concurrent},
		{"smaller tuples wait", "roundabout_table.go", "!t.Same(l.t) && !t.Before(l.t)", "!t.Same(l.t)", concurrent},
		{"locks last for ever", "roundabout_table.go", "h.lock.on && h.lock.until <= now", "false", concurrent},
		{"only one candidate asks", "roundabout_table.go", "\t\t\th.askAnother(now)\n", "\t\t\th.askAgain(now, l.in, l.class)\n", concurrent},
		{"hosts are asked", "roundabout_table.go", "if h.s.ToHost(in) {", "if false {", concurrent},
		{"numbers of rounds do not matter", "roundabout_round.go", " && r.serial == hdr.Round", "", loops},
		{"replies have no room", "roundabout_round.go", "floor: h.s.View().SharedSize() / 16", "floor: 0", loops},
		{"a check does not wait for the barrier", "roundabout_round.go", "\t\tif r.home {\n\t\t\th.checkPass", "\t\tif true {\n\t\t\th.checkPass", loops},
		{"queues whose headroom is used are resumed", "roundabout_round.go", "in != r.in && (from", "false && (from", loops},
		{"headroom is given back late", "roundabout_round.go", "h.unused(b.by, b.class) >= 0", "q.Headroom == 0", concurrent},
		{"queues come for more while the buffer is full", "roundabout_round.go", "h.s.View().SharedFree() < h.s.View().SharedSize()/4", "false", loops},
		{"rounds last for ever", "roundabout_round.go", "now-r.moved < patience", "true", loops},
		{"there is one round", "roundabout_round.go", "!open && l.rounds >= h.params.Rounds", "!open", loops},
		{"a loop is open when no queue is below Xon", "roundabout_round.go", "hdr.Flags |= raBelowXon\n", "", loops},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.file, m.right, m.wrong, m.test...) })
	}
}
