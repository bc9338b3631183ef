//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepDSHLosesNothing(t *testing.T) { losesNothing(t, trials.First(4000)) }
