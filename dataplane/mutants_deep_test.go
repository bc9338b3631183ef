//go:build deep

package dataplane_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/mutant"
)

// Mistakes in taking frames back that the tests of it must find.
func TestDeepMistakesInPushOutAreCaught(t *testing.T) {
	for _, m := range []struct{ name, file, right, wrong string }{
		{"the policy is not told", "switch_expel.go", "s.observer.Dequeued(now, s.view, a)\n", ""},
		{"the books are not", "switch_expel.go", "s.ledger.Expel(a)\n", ""},
		{"it counts as one that was refused", "switch_expel.go", "f, probe.Expelled)", "f, probe.Overflow)"},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.file, m.right, m.wrong, "-run=^TestExpel", ".") })
	}
}
