//go:build deep

package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepEnginesAgree(t *testing.T) { testAgree(t, trials.First(200), 6000) }

func TestDeepEnginesAgreeByInsertion(t *testing.T) { testInsertion(t, trials.First(100), 4000) }

func TestDeepShortcutsChangeNothing(t *testing.T) { testShortcuts(t, trials.First(200), 4000) }

func TestDeepEnginesAgreeOnExpelled(t *testing.T) { testExpels(t, trials.First(150), 2000) }

func TestDeepNewerSchemes(t *testing.T) { testNewer(t, trials.First(200), 3000) }

func TestDeepLiveAgrees(t *testing.T) { testLive(t, trials.First(60)) }

func TestDeepTightPFC(t *testing.T) { testTight(t, trials.First(500)) }

func TestDeepIdealIsTheFCTAlone(t *testing.T) {
	testIdeal(t, trials.First(600))
}

func TestDeepLateTimers(t *testing.T) { testLateTimers(t, trials.First(20)) }

func TestDeepPlainNodesChangeNothing(t *testing.T) { testPlain(t, trials.First(500), 1000) }
