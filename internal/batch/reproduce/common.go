package reproduce

import (
	"fmt"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// peers identifies runs with the same flows under different schemes.
type peers struct {
	name, x string // case and x
	seed    uint64
}

func (w *wanted) peers() peers { return peers{w.Case, w.X, w.point.Seed} }

// finishers knows which flows finished under all schemes.
type finishers struct {
	store *sweep.Store
	rows  []sweep.Row
	plan  []wanted // of one experiment
	known map[peers][]bool
}

// members calls use for peers until it returns false.
func (f *finishers) members(g peers, use func(*wanted) bool) {
	for i := range f.plan {
		if w := &f.plan[i]; w.peers() == g && !use(w) {
			return
		}
	}
}

// complete reports whether all peers are done.
func (f *finishers) complete(g peers) bool {
	done := true
	f.members(g, func(w *wanted) bool {
		done = w.part == nil && f.rows[w.point.Index].Point != nil
		return done
	})
	return done
}

// of returns for each row of the table of flows whether the flow finished under all schemes.
// Runs without results do not count.
func (f *finishers) of(g peers) (all []bool, err error) {
	if all, ok := f.known[g]; ok {
		return all, nil
	}
	f.members(g, func(w *wanted) bool {
		if !f.rows[w.point.Index].Results {
			return true
		}
		var finished []bool
		if finished, err = equals(tablePath(f.store.Path(w.point), "flows"), "finished", "true"); err != nil {
			return false
		}
		if all != nil && len(finished) != len(all) {
			err = fmt.Errorf("%s has %d flows, the other schemes have %d (expected the same flows)", w.point.Label, len(finished), len(all))
			return false
		}
		all = both(all, finished)
		return true
	})
	f.known[g] = all
	return all, err
}

// both returns the rows that two filters keep. A nil filter keeps all.
func both(a, b []bool) []bool {
	if a == nil || b == nil {
		if a == nil {
			a = b
		}
		return a
	}
	for i := range a {
		a[i] = a[i] && b[i]
	}
	return a
}
