//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/internal/mutant"
)

func TestDeepDSHLosesNothing(t *testing.T) { losesNothing(t, deep.Cases(10_000)) }

// DSH with one mistake in its source: the property must find each of them.
func TestDeepMistakesInDSHAreCaught(t *testing.T) {
	for _, m := range []struct{ name, right, wrong string }{
		{"an empty queue stays OFF while T is below tau (step 5)", " || in.Shared+in.Headroom+in.Reserve == 0\n", "\n"},
		{"the port resumes while its insurance is in use", " && v.PortIn(r.in.Index(), mmu.Headroom)+v.PortIn(r.in.Index(), mmu.Reserve) == 0", ""},
		{"the insurance does not pause the port", "if s == mmu.Headroom {", "if s == mmu.Drop {"},
		{"the insurance is one frame short", "mmu.Headroom)+a.Bytes <= r.insurance:", "mmu.Headroom)+a.Bytes <= r.insurance-1048:"},
		{"a port that is empty stays OFF", "(shared < limit-r.deltaP || shared == 0)", "shared < limit-r.deltaP"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, "../scheme/flowctl/dsh.go", m.right, m.wrong, "-run=^TestDSHLosesNothing$", ".")
		})
	}
}
