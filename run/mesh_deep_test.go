//go:build deep

package run_test

import (
	"testing"
)

func TestDeepRoundaboutInAMeshOfLoops(t *testing.T) {
	meshOfLoops(t, 1, 4, 11, 45)
}
