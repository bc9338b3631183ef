//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepDSHLosesNothing(t *testing.T) { losesNothing(t, deep.Cases(10_000)) }
