//go:build deep

package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepRandomLoops(t *testing.T) { testLoops(t, deep.Cases(300), 5) }
