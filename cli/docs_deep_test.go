//go:build deep

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

// TestDeepDocsTutorial runs the commands of docs/extend.md, which build a program.
func TestDeepDocsTutorial(t *testing.T) {
	deep.Turn(t)
	tutorial(t, true)
}

// TestDeepDocsTune runs the commands of docs/tune.md: a search improves the RDMA of
// examples/hybrid.yaml beyond noise.
func TestDeepDocsTune(t *testing.T) {
	deep.Turn(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(work, "examples")); err != nil {
		t.Fatal(err)
	}
	consoles(t, filepath.Join(root, "docs/tune.md"), func(command string) string { return shell(t, work, command) })
}
