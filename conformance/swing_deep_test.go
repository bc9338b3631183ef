//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/internal/mutant"
)

func TestDeepSwingKeepsItsPromise(t *testing.T) { swingKeeps(t, deep.Cases(5000)) }

// SWING with one mistake in its source: the property must find each of them.
func TestDeepMistakesInSwingAreCaught(t *testing.T) {
	for _, m := range []struct{ name, right, wrong string }{
		{"the long side has one way instead of a round trip", "return p.Cells(link.BDP(p)) + units.MiB", "return p.Cells(link.BDP(p))/2 - 128*units.KB"},
		{"frames leave the relay by the port they came in", "relayPorts-1-g.port.Index()", "g.port.Index()"},
		{"the switch is never told to go on", "r.Want(now, r.want&^(1<<a.Class))", "r.Want(now, r.want)"},
		{"the short side forgets what is on its way", "return s.params.Xoff + link.Needed(p)", "return s.params.Xoff"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, "../scheme/flowctl/swing.go", m.right, m.wrong, "-run=^(TestSwingKeepsItsPromise|TestFlowControl)$/(^swing$)?", ".")
		})
	}
}
