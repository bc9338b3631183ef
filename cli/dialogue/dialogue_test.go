// Package dialogue tests what commands print, write and answer: one script per task in testdata.
package dialogue

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/script"
)

func TestMain(m *testing.M) { script.Main(m, nil) }

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", "../testdata/busy.yaml", "../testdata/experiments")
}
