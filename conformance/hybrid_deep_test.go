//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepSharingLosesNothing(t *testing.T) { sharingLosesNothing(t, deep.Cases(5000)) }
