//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/internal/mutant"
)

func TestDeepCBFCKeepsItsPromise(t *testing.T) { cbfcKeeps(t, deep.Cases(5000)) }

// Credits with one mistake in their source.
func TestDeepMistakesInCBFCAreCaught(t *testing.T) {
	for _, m := range []struct{ name, right, wrong string }{
		{"what is stored is forgotten", "min(r.lane-r.held[class], r.most)", "min(r.lane, r.most)"},
		{"differences of counters do not wrap", "blocks(g.store.Cost(b)))&g.mask <= g.most", "blocks(g.store.Cost(b))) <= g.most"},
		{"the last block of a frame is free", "return uint64((b + creditBlock - 1) / creditBlock)", "return uint64(b / creditBlock)"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, "../scheme/flowctl/cbfc.go", m.right, m.wrong, "-run=^TestCBFCKeepsItsPromise$", ".")
		})
	}
}
