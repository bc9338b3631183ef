package cli_test

import (
	"os"

	"github.com/xoff-net/xoff/cli"
)

// The main of a program with schemes of its own: each registers itself in an init
// function of its file, and every command knows it.
func ExampleMain() {
	os.Exit(cli.Main(os.Args[1:]))
}

// What the command prints can go elsewhere.
func ExampleRun() {
	cli.Run([]string{"headroom", "--rate", "100Gbps", "--cable", "300m"}, os.Stdout, os.Stderr)
	// Output:
	// rate     cable  delay_us  eq1    exact  eq1_short
	// 100Gbps  300m   1.5       44340  45904  1564
}
