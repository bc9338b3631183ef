// Command own-scheme is xoff with additional schemes, one file for each plug point. Each file
// registers its scheme; every command, from `list` to `reproduce`, then knows it.
package main

import (
	"os"

	"github.com/xoff-net/xoff/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
