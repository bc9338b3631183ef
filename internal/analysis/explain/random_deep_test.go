//go:build deep

package explain_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepPartsAddUp(t *testing.T) { partsAddUp(t, deep.Cases(200)) }

func TestDeepTrees(t *testing.T) { sameTrees(t, deep.Cases(120)) }
