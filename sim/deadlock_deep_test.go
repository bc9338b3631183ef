//go:build deep

package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepRandomLoops(t *testing.T) { testLoops(t, trials.First(100), 5) }
