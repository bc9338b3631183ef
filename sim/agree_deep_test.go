//go:build deep

package sim_test

import "testing"

func TestDeepEnginesAgree(t *testing.T) { testAgree(t, 500, 6000) }

func TestDeepEnginesAgreeByInsertion(t *testing.T) { testInsertion(t, 200, 4000) }

func TestDeepShortcutsChangeNothing(t *testing.T) { testShortcuts(t, 400, 4000) }
