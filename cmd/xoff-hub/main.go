// Command xoff-hub is a NATS server with JetStream for xoff sweep --nats and xoff worker.
package main

import (
	"os"

	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
)

func main() { os.Exit(hub.Main(os.Args[1:])) }
