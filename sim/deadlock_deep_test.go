//go:build deep

package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/internal/mutant"
)

func TestDeepRandomLoops(t *testing.T) { testLoops(t, deep.Cases(300), 5) }

// The search for deadlock with one mistake.
func TestDeepMistakesAboutDeadlockAreCaught(t *testing.T) {
	rings := []string{"-run=^(TestRandomLoops|TestSearchOften|TestLoopCloses|TestPausedInACircleIsNoDeadlock)$", "."}
	trees := []string{"-run=^(TestPauseTreeOfAStuckHost|TestRandomPauseTrees)$", "."}
	for _, m := range []struct {
		name, file, right, wrong string
		test                     []string
	}{
		{"a RESUME on its way is overlooked", "deadlock_search.go", "q.since <= t && !q.free", "q.since <= t", rings},
		{"hosts never take anything", "deadlock_search.go", "if q.in && x.sw(x.peers[q.Node][q.Port].Node) == nil {", "if false {", rings},
		{"thresholds as they are now", "deadlock_search.go", "rest.View = x.rests[i].View()", "rest.View = s.View()", rings},
		{"a queue is looked at though none of its frames leave", "deadlock_search.go", "|| all.Total() != b {", "|| all.Total() >= b {", rings},
		{"everything counts that is held", "deadlock_search.go", "		if q.in {\n			for _, l", "		if true {\n			for _, l", rings},
		{"frames that came later count", "deadlock_search.go", "if f.came <= t {", "if f.came <= x.now {", rings},
		{"the time of the last departure is lost", "../scheme/flowctl/sih.go", "	r.quiet[a.Class&7] = now\n	in :=", "	in :=", []string{"-run=^TestResumes$", "../scheme/flowctl"}},
		{"the first pause that was sent is the cause", "pauses.go", "sent[n-1]", "sent[0]", trees},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.file, m.right, m.wrong, m.test...) })
	}
}
