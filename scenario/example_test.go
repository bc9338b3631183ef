package scenario_test

import (
	"fmt"

	"github.com/xoff-net/xoff/scenario"
)

// Errors have a location and say what is expected.
func ExampleParse() {
	_, err := scenario.Parse("mine.yaml", []byte("name: mine\nrun:\n  arrivals: 3\n"))
	fmt.Println(err)
	// Output: mine.yaml:3:13: run.arrivals: "3" has no unit (allowed: ps, ns, us, ms, s)
}
