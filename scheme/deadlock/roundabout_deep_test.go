//go:build deep

package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepRoundaboutRandomLoops(t *testing.T) { testRandomLoops(t, trials.First(1000)) }

func TestDeepRoundaboutExitsThatPauseAtEachFrame(t *testing.T) { exitsThatPause(t, 722) }

func TestDeepRoundaboutOrder(t *testing.T) { testOrder(t, trials.First(400)) }

func TestDeepRoundaboutConcurrentLoops(t *testing.T) { testConcurrentLoops(t, trials.First(200)) }

// With all rules no promise is broken in the loops of TestDeepRoundaboutMutants. Mistakes in the
// source are tested with this.
func TestDeepRoundaboutMutantOfNothing(t *testing.T) {
	coverage(t, 40)
	if err := brokenPromise(""); err != nil {
		t.Error(err)
	}
}

// Removing any rule makes some random loop lose or reorder frames, stay unresolved, abandon a
// round, or leave state behind. Rules that cannot be removed through the API are in
// TestDeepMistakesInRoundaboutAreCaught.
func TestDeepRoundaboutMutants(t *testing.T) {
	for _, mutant := range []string{
		"RESUMEs are not delayed", "no barrier", "the side queue stays", "the reserve stays", "nothing is set aside", "the gate obeys pauses in a round",
		"nothing is marked", "credits are added up", "others join the loop", "in-loop frames have no reserve", "marks stay",
		"only one frame per exit is marked", "the barrier goes around again", "freed bytes are not granted",
	} {
		if brokenPromise(mutant) == nil {
			t.Errorf("%q: no promise is broken", mutant)
		}
	}
}
