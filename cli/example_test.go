package cli_test

import (
	"os"

	"github.com/xoff-net/xoff/cli"
)

// The main function of a program with its own schemes. Each scheme registers itself in an
// init function, and every command knows it.
func ExampleMain() {
	os.Exit(cli.Main(os.Args[1:]))
}

// Run writes to any output.
func ExampleRun() {
	cli.Run([]string{"headroom", "--rate", "100Gbps", "--cable", "300m"}, os.Stdout, os.Stderr)
	// Output:
	// rate     cable  delay_us  eq1    exact  eq1_short
	// 100Gbps  300m   1.5       44340  45904  1564
}
