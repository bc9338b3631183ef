//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
	"github.com/xoff-net/xoff/internal/mutant"
)

func TestDeepSharingLosesNothing(t *testing.T) { sharingLosesNothing(t, deep.Cases(5000)) }

// Mistakes that the property must find.
func TestDeepMistakesInSharingAreCaught(t *testing.T) {
	for _, m := range []struct{ name, file, right, wrong string }{
		{"reverie takes what the pool has no room for", "../scheme/buffer/reverie.go", "free := v.SharedFree() - a.Bytes", "free := v.SharedFree()"},
		{"a queue resumes while it holds headroom", "../scheme/flowctl/sonic.go", "if in.Headroom|in.Reserve != 0 {", "if in.Reserve != 0 {"},
		{"headroom does not pause", "../scheme/flowctl/sonic.go", "(s == mmu.Headroom || s == mmu.Shared", "(s == mmu.Drop || s == mmu.Shared"},
		{"an empty queue stays OFF", "../scheme/flowctl/sonic.go", " || in.Total() == 0\n", "\n"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, m.file, m.right, m.wrong, "-run=^TestSharingLosesNothing$", ".")
		})
	}
}
