// Package deep takes long tests in turns: with XOFF_TURN=k, a number from 0 to 9, a tenth
// of their cases runs; without it all do. CI takes k from the number of commits, so
// that ten changes see everything; `make test-all` runs it all at once.
package deep

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

const turns = 10

// turn returns the turn that was asked for; false: all.
func turn() (int, bool) {
	text := os.Getenv("XOFF_TURN")
	if text == "" {
		return 0, false
	}
	k, err := strconv.Atoi(text)
	if err != nil || k < 0 || k >= turns {
		panic("XOFF_TURN is " + text + "; allowed: 0 to 9")
	}
	return k, true
}

// InTurns reports whether a tenth of the cases is to run, not all.
func InTurns() bool { _, some := turn(); return some }

// Turn skips a test whose turn it is not. Turns follow from names: a new test does not
// move others.
func Turn(t testing.TB) {
	t.Helper()
	hash := fnv.New32a()
	hash.Write([]byte(t.Name()))
	if k, some := turn(); some && int(hash.Sum32()%turns) != k {
		t.Skipf("turn %d of %d, and this is turn %d", hash.Sum32()%turns, turns, k)
	}
}

// Cases returns those of n random cases whose turn it is: neighbours, because generators take
// their choices from the number of a case modulo small numbers.
func Cases(n int) []int {
	cases := All(n)
	if k, some := turn(); some {
		return cases[n*k/turns : n*(k+1)/turns]
	}
	return cases
}

// All returns n cases, whatever the turn: for tests that are not long.
func All(n int) []int {
	cases := make([]int, n)
	for i := range cases {
		cases[i] = i
	}
	return cases
}
