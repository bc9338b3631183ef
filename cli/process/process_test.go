// Package process tests what needs processes of xoff and xoff-hub: signals, kills, several
// machines, standard input.
package process

import (
	"os"
	"testing"

	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
	"github.com/xoff-net/xoff/internal/devtool/script"
)

func TestMain(m *testing.M) {
	script.Main(m, map[string]func(){"xoff-hub": func() { os.Exit(hub.Main(os.Args[1:])) }})
}

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", "../testdata/busy.yaml", "../testdata/experiments")
}
