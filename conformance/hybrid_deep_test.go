//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepSharingLosesNothing(t *testing.T) { sharingLosesNothing(t, trials.First(2000)) }
