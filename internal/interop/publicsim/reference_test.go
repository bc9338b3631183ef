package publicsim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/run"
)

// builtin returns the compact references with the given names.
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

// agree checks that every flow completes at the same nanosecond as in the public simulator,
// for references that do not depend on random numbers.
func agree(t *testing.T, folders ...string) {
	t.Helper()
	compared := 0
	for _, c := range builtin(t, folders...) {
		if c.Ref.Random {
			continue
		}
		compared++
		for _, engine := range []run.Engine{run.Oracle, run.Fast} {
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

// DCQCN depends on the random numbers of ECN: the medians of our ten runs lie in the range
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
		f, err := c.Compare(context.Background(), run.Fast, tolerances[c.Algorithm][run.Fast])
		if err != nil {
			t.Fatal(err)
		}
		if f.Seeds != 10 || len(f.Problems) > 0 {
			t.Errorf("%s: %d seeds, %q", c.Folder, f.Seeds, f.Problems)
		}
	}
}

// A random reference with a single pause trace has no range of pauses; its number must be
// near the range of our seeds. The range of a built-in reference is not used for a
// modified one.
func TestReferenceOneTrace(t *testing.T) {
	tolerances, err := Tolerances()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range builtin(t, "S2P_1MB") {
		if !c.Ref.Random {
			continue
		}
		for _, s := range []struct {
			pauses        int
			addKnownRange bool
			bad           string
		}{
			{234, true, ""},
			{702, false, "the reference has 702 pauses (expected "},
			{235, false, ""},
		} {
			c.Ref.Range, c.Ref.Pauses.Value = Optional[span]{}, s.pauses
			if err := c.addKnownRange(); err != nil {
				t.Fatal(err)
			}
			if c.Ref.Range.Given != s.addKnownRange {
				t.Errorf("%d pauses: the range is %+v", s.pauses, c.Ref.Range)
			}
			f, err := c.Compare(context.Background(), run.Fast, tolerances[c.Algorithm][run.Fast])
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.Problems, "; "); f.OneTrace == s.addKnownRange || (got == "") != (s.bad == "") || !strings.HasPrefix(got, s.bad) {
				t.Errorf("%d pauses: one trace %t, %q, want %q", s.pauses, f.OneTrace, got, s.bad)
			}
		}
	}
}
