//go:build deep

package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepRoundaboutRandomLoops(t *testing.T) { testRandomLoops(t, deep.Cases(1000)) }

func TestDeepRoundaboutConcurrentLoops(t *testing.T) { testConcurrentLoops(t, deep.Cases(200)) }

// Each rule that was decided is needed: without it some random loop loses frames, their
// order, or is not resolved, a round is given up, or something stays behind. Rules that a
// handler cannot be seen to lack from outside are in TestDeepMistakesInRoundaboutAreCaught.
func TestDeepRoundaboutMutants(t *testing.T) {
	deep.Turn(t)
	for _, how := range []string{
		"RESUMEs are not held", "no barrier", "the side queue stays", "the reserve stays", "nothing is set aside", "the gate obeys pauses in a round",
		"nothing is marked", "credits are added up", "others join the loop", "in-loop frames have no reserve", "marks stay",
		"only one frame per exit is marked", "the barrier goes round again", "what leaves is not granted",
	} {
		if notices(how) == nil {
			t.Errorf("%q: not noticed", how)
		}
	}
}
