//go:build deep

package explain_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepPartsAddUp(t *testing.T) {
	partsAddUp(t, trials.First(50))
}

func TestDeepTrees(t *testing.T) {
	sameTrees(t, trials.First(24))
}
