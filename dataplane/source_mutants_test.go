package dataplane_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// The tests of expulsion must find these mistakes.
func TestDeepMistakesInPushOutAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"the policy is not told", "Switch.expel", "s.observer.Dequeued(now, s.view, a)\n", ""},
		{"the ledger is not told", "Switch.expel", "s.ledger.Expel(a)\n", ""},
		{"counted as an overflow", "Switch.expel", "f, probe.Expelled)", "f, probe.Overflow)"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^TestExpel", ".")
	}
	group.MustCatch(t)
}
