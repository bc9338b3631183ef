//go:build deep

package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepSwingKeepsItsPromise(t *testing.T) { checkSwingPromise(t, trials.First(2000)) }
