package scenario_test

import (
	"fmt"

	"github.com/xoff-net/xoff/scenario"
)

// A mistake is named with its place and what would be right.
func ExampleParse() {
	_, err := scenario.Parse("mine.yaml", []byte("name: mine\nrun:\n  arrivals: 3\n"))
	fmt.Println(err)
	// Output: mine.yaml:3:13: run.arrivals: "3" has no unit; allowed: ps, ns, us, ms, s
}
