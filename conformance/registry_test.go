package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/buffer"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/flowctl"
)

// Every entry of every table passes the suite of its plug point.

func TestFlowControl(t *testing.T) {
	for _, e := range flowctl.Schemes.All() {
		t.Run(e.Name, func(t *testing.T) { conformance.FlowControl(t, e) })
	}
}

func TestPolicy(t *testing.T) {
	for _, e := range buffer.Policies.All() {
		t.Run(e.Name, func(t *testing.T) { conformance.Policy(t, e) })
	}
}
