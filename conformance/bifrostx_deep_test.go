//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/internal/mutant"
)

func TestDeepBifrostXKeepsItsPromise(t *testing.T) { bifrostXKeeps(t, deep.Cases(5000)) }

// BifrostX with one mistake in its source.
func TestDeepMistakesInBifrostXAreCaught(t *testing.T) {
	for _, m := range []struct{ name, right, wrong string }{
		{"all that is left is carried over", "g.left = min(g.left, g.frame) + units.Bytes(ext[0])", "g.left += units.Bytes(ext[0])"},
		{"what is in flight is forgotten", "r.room()-r.flight))", "r.room()))"},
		{"tokens of the link are not used up", "g.left -= b + g.overhead", "g.left -= 0"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, "../scheme/flowctl/bifrostx.go", m.right, m.wrong, "-run=^(TestBifrostXKeepsItsPromise|TestFlowControl)$/(^bifrostx$)?", ".")
		})
	}
}
