//go:build deep

package reproduce

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
)

func TestDeepBuiltScenarios(t *testing.T) {
	deep.Turn(t)
	testBuilt(t, Full)
}
