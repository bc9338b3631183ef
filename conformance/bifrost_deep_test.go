//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepBifrostKeepsItsPromise(t *testing.T) { checkBifrostPromise(t, trials.First(2000)) }
