//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepSwingKeepsItsPromise(t *testing.T) { checkSwingPromise(t, deep.Cases(5000)) }
