// Package trials chooses the random cases of property tests. They are the same every time, so
// that a test passes everywhere or nowhere.
package trials

import (
	"flag"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// First returns the numbers 0 to n-1 of cases.
func First(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Check is rapid.Check with fixed cases: others for each call within a test. The flag
// -rapid.seed chooses different ones.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	choose(t.Name())
	rapid.Check(t, property)
}

// Few is Check with a tenth of the cases, for cases that take long.
func Few(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	number := flag.Lookup("rapid.checks").Value
	all := number.String()
	n, err := strconv.Atoi(all)
	if err == nil {
		err = number.Set(strconv.Itoa(max(1, n/10)))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = number.Set(all) }()
	Check(t, property)
}

var (
	chosen = sync.OnceValue(func() bool { return flag.Lookup("rapid.seed").Value.String() != "0" })
	mu     sync.Mutex
	checks = make(map[string]int) // by test
)

// choose sets the seed of the next check of a test, unless the user has set it.
func choose(test string) {
	if chosen() {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	checks[test]++
	if err := flag.Set("rapid.seed", strconv.Itoa(checks[test])); err != nil {
		panic(err)
	}
}
