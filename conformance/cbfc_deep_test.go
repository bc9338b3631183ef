//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepCBFCKeepsItsPromise(t *testing.T) { checkCBFCPromise(t, deep.Cases(5000)) }
