//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepBifrostKeepsItsPromise(t *testing.T) { checkBifrostPromise(t, deep.Cases(5000)) }
