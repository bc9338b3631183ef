//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepCBFCKeepsItsPromise(t *testing.T) { checkCBFCPromise(t, trials.First(2000)) }
