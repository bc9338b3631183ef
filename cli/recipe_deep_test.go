//go:build deep

package cli

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
)

// TestDeepRecipe runs the whole test command after the recipe.
func TestDeepRecipe(t *testing.T) {
	deep.Turn(t)
	followRecipe(t, func(command string) string { return command })
}
