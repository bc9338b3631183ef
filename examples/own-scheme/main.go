// Command own-scheme is xoff with schemes of its own: one file for each plug point.
// Each registers itself; everything else, from `list` to `reproduce`, is xoff's.
package main

import (
	"os"

	"github.com/xoff-net/xoff/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
