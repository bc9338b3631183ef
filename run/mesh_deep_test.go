//go:build deep

package run_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepRoundaboutInAMeshOfLoops(t *testing.T) {
	deep.Turn(t)
	meshOfLoops(t, 1, 4, 11, 45)
}
