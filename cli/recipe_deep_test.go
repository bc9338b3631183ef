//go:build deep

package cli

import "testing"

// TestDeepRecipe runs the whole test command after the recipe.
func TestDeepRecipe(t *testing.T) {
	followRecipe(t, func(command string) string { return command })
}
