//go:build deep

package explain_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepPartsAddUp(t *testing.T) {
	deep.Turn(t)
	partsAddUp(t, deep.All(50))
}

func TestDeepTrees(t *testing.T) {
	deep.Turn(t)
	sameTrees(t, deep.All(24))
}
