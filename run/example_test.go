package run_test

import (
	"context"
	"fmt"

	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// A program runs a scenario with one key changed and prints parts of the summary.
func ExampleScenario() {
	cfg, err := scenario.ReadFile("../examples/incast.yaml", "switch.policy.alpha=1/4")
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := run.Scenario(context.Background(), cfg, run.Options{Invariants: run.Strict})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := done.Summary
	fmt.Println("unfinished:", sum.Flows.Unfinished)
	fmt.Println("lossless drops:", sum.Drops.Lossless)
	fmt.Println("fine:", done.Verdict.Code == run.Fine)
	// Output:
	// unfinished: 0
	// lossless drops: 0
	// fine: true
}
