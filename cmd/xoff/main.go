// Command xoff simulates lossless Ethernet fabrics packet by packet.
package main

import (
	"os"

	"github.com/xoff-net/xoff/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
