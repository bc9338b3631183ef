//go:build deep

package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepEnginesAgree(t *testing.T) { testAgree(t, deep.Cases(500), 6000) }

func TestDeepEnginesAgreeByInsertion(t *testing.T) { testInsertion(t, deep.Cases(200), 4000) }

func TestDeepShortcutsChangeNothing(t *testing.T) { testShortcuts(t, deep.Cases(400), 4000) }

func TestDeepEnginesAgreeOnExpelled(t *testing.T) { testExpels(t, deep.Cases(300), 2000) }

func TestDeepNewerSchemes(t *testing.T) { testNewer(t, deep.Cases(300), 3000) }

func TestDeepLiveAgrees(t *testing.T) { testLive(t, deep.Cases(60)) }

func TestDeepTightPFC(t *testing.T) { testTight(t, deep.Cases(1000)) }

func TestDeepIdealIsTheFCTAlone(t *testing.T) {
	deep.Turn(t)
	testIdeal(t, deep.All(600))
}

func TestDeepLateTimers(t *testing.T) { testLateTimers(t, deep.Cases(20)) }

func TestDeepPlainNodesChangeNothing(t *testing.T) { testPlain(t, deep.Cases(1000), 1000) }
