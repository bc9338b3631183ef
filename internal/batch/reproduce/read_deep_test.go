//go:build deep

package reproduce

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepBuiltScenarios(t *testing.T) {
	deep.Turn(t)
	testBuilt(t, Quick, true)
	testBuilt(t, Full, true)
}

func TestDeepBuilt(t *testing.T) {
	deep.Turn(t)
	all, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	validScale(t, all, Full, 3)
}
