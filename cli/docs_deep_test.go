//go:build deep

package cli

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

// TestDeepDocsTutorial runs the commands of docs/extend.md, which build a program.
func TestDeepDocsTutorial(t *testing.T) {
	deep.Turn(t)
	tutorial(t, true)
}
