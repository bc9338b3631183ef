//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/internal/mutant"
)

func TestDeepBifrostKeepsItsPromise(t *testing.T) { bifrostKeeps(t, deep.Cases(5000)) }

// Bifrost with one mistake in its source: the property must find each of them.
func TestDeepMistakesInBifrostAreCaught(t *testing.T) {
	const bifrost, slots = "../scheme/flowctl/bifrost.go", "../scheme/flowctl/slots.go"
	for _, m := range []struct{ name, file, right, wrong string }{
		{"grants expire two slots early", slots, "+s.slot-1)/s.slot) + 1", "+s.slot-1)/s.slot) - 1"},
		{"grants are never returned", slots, "b.flight += c - b.grants[b.oldest]", "b.flight += c"},
		{"the frame in progress is forgotten", bifrost, "quantaFor(r.full - (c - frame))", "quantaFor(r.full - c)"},
		{"grants are not whole frames", bifrost, "c = (c-ajar)/frame*frame + ajar", ""},
		{"what is stored is forgotten", bifrost, "c := min(r.full, r.room()-r.flight)", "c := min(r.full, r.limit-r.flight)"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, m.file, m.right, m.wrong, "-run=^TestBifrostKeepsItsPromise$", ".")
		})
	}
}
