package hpcc

import (
	"context"
	"fmt"
	"testing"
)

// builtin returns the compact references of some folders.
func builtin(t *testing.T, folders ...string) []*Case {
	t.Helper()
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var list []*Case
	for _, name := range folders {
		for _, c := range all {
			if c.Folder == name {
				list = append(list, c)
			}
		}
	}
	return list
}

// agree checks that every flow completes at the same nanosecond as in the public
// simulator, wherever that does not depend on random numbers.
func agree(t *testing.T, folders ...string) {
	t.Helper()
	compared := 0
	for _, c := range builtin(t, folders...) {
		if c.Ref.Random {
			continue
		}
		compared++
		for _, engine := range []Engine{Oracle, Fast} {
			t.Run(fmt.Sprintf("%s/%s/%s", c.Folder, c.Algorithm, engine), func(t *testing.T) {
				f, err := c.Compare(context.Background(), engine, Tolerance{Exact: 1})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range f.Problems {
					t.Error(p)
				}
			})
		}
	}
	if compared < 2*len(folders) {
		t.Errorf("only %d references were compared", compared)
	}
}

func TestReferences(t *testing.T) { agree(t, "S1", "S2_64KB", "S2_1MB", "S2P_1MB") }

// DCQCN depends on the coins of ECN: medians of ten runs of ours lie in the range
// of the reference's ten.
func TestReferenceRanges(t *testing.T) {
	tolerances, err := Tolerances()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range builtin(t, "S2_1MB", "S2P_1MB") {
		if !c.Ref.Random {
			continue
		}
		f, err := c.Compare(context.Background(), Fast, tolerances[c.Algorithm][Fast])
		if err != nil {
			t.Fatal(err)
		}
		if f.Seeds != 10 || len(f.Problems) > 0 {
			t.Errorf("%s: %d seeds, %q", c.Folder, f.Seeds, f.Problems)
		}
	}
}
