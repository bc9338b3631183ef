//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepBifrostXKeepsItsPromise(t *testing.T) { checkBifrostXPromise(t, deep.Cases(5000)) }
