// Command xoff simulates lossless Ethernet fabrics packet by packet, for researchers who compare
// schemes and for operators who check configurations.
package main

import (
	"os"

	"github.com/xoff-net/xoff/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
