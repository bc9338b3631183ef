//go:build deep

package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

func TestDeepMiniatures(t *testing.T) {
	every(t, flowctl.Schemes, func(t testing.TB, e registry.Entry[flowctl.New]) {
		if slow[e.Name] {
			conformance.FlowControl(t, e)
		}
	})
}
