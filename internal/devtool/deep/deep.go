// Package deep splits the cases of long tests into ten turns. With XOFF_TURN=k, a number
// from 0 to 9, only turn k runs; without it all cases run. CI derives k from the number of
// commits, so ten changes cover everything. `make test-all` runs all turns at once.
package deep

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

const turns = 10

// turn returns the turn in XOFF_TURN; false means all cases.
func turn() (int, bool) {
	text := os.Getenv("XOFF_TURN")
	if text == "" {
		return 0, false
	}
	k, err := strconv.Atoi(text)
	if err != nil || k < 0 || k >= turns {
		panic("XOFF_TURN is " + text + " (expected 0 to 9)")
	}
	return k, true
}

// InTurns reports whether only one tenth of the cases runs.
func InTurns() bool { _, set := turn(); return set }

// Turn skips the test if it belongs to another turn. The turn is a hash of the test name,
// so a new test does not move others.
func Turn(t testing.TB) {
	t.Helper()
	hash := fnv.New32a()
	hash.Write([]byte(t.Name()))
	if k, set := turn(); set && int(hash.Sum32()%turns) != k {
		t.Skipf("belongs to turn %d of %d, but this is turn %d", hash.Sum32()%turns, turns, k)
	}
}

// Cases returns the cases of 0 to n-1 that run in this turn. They are consecutive, because
// generators derive their choices from the case number modulo small numbers.
func Cases(n int) []int {
	cases := All(n)
	if k, set := turn(); set {
		return cases[n*k/turns : n*(k+1)/turns]
	}
	return cases
}

// All returns the cases 0 to n-1 whatever the turn, for tests that are not long.
func All(n int) []int {
	cases := make([]int, n)
	for i := range cases {
		cases[i] = i
	}
	return cases
}
