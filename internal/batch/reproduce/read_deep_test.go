//go:build deep

package reproduce

import (
	"testing"
)

func TestDeepBuiltScenarios(t *testing.T) {
	testBuilt(t, Quick, true)
	testBuilt(t, Full, true)
}

func TestDeepBuilt(t *testing.T) {
	all, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	validScale(t, all, Full, 3)
}
