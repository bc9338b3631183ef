//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepBifrostXKeepsItsPromise(t *testing.T) { checkBifrostXPromise(t, trials.First(2000)) }
