package deep

import (
	"fmt"
	"slices"
	"testing"
)

// Ten turns run every case exactly once.
func TestTurnsSeeEverything(t *testing.T) {
	const n = 37
	seen, ran := map[int]int{}, map[string]int{}
	for k := range turns {
		t.Setenv("XOFF_TURN", fmt.Sprint(k))
		for _, i := range Cases(n) {
			seen[i]++
		}
		for i := range n {
			name := fmt.Sprint("case", i)
			t.Run(name, func(t *testing.T) {
				fake := named{t, name}
				Turn(&fake)
				if !fake.Skipped() {
					ran[name]++
				}
			})
		}
	}
	for i := range n {
		if seen[i] != 1 || ran[fmt.Sprint("case", i)] != 1 {
			t.Errorf("case %d: %d times in Cases, %d times by Turn", i, seen[i], ran[fmt.Sprint("case", i)])
		}
	}
	t.Setenv("XOFF_TURN", "")
	if got := Cases(n); !slices.Equal(got, All(n)) {
		t.Errorf("without a turn: %v", got)
	}
}

// named is a testing.TB with its own name. Skipf only records the call.
type named struct {
	testing.TB
	name string
}

func (f *named) Name() string         { return f.name }
func (f *named) Skipf(string, ...any) { f.name = "" }
func (f *named) Skipped() bool        { return f.name == "" }
