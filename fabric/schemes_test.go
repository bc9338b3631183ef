package fabric

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

type pickyParams struct {
	Depth int `yaml:"depth"`
}

func init() {
	deadlock.Handlers.Register(registry.Entry[deadlock.New]{
		Name: "test-picky", Params: func() any { return &pickyParams{Depth: 1} }, Promises: registry.Lossless,
		New: func(params any, s deadlock.Switch) (deadlock.Handler, error) {
			if d := params.(*pickyParams).Depth; d < 1 {
				return nil, fmt.Errorf("depth is %d at a switch of %d ports (expected 1 or more)", d, s.Ports())
			}
			return nil, nil
		},
	})
}

// Parameters of schemes are checked when the file is read; errors have a location.
func TestSchemeParameters(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"switch:\n  deadlock: {name: test-picky, depth: 2}", ""},
		{"switch:\n  deadlock: {name: test-picky, depth: 0}", "a.yaml:2:39: switch.deadlock.depth: depth is 0 at a switch of 2 ports (expected 1 or more)"},
		{"hosts:\n  cc: {name: fixed, rate: -1bps}", "a.yaml:2:27: hosts.cc.rate: rate is -1bps (expected 0bps for line rate, or more)"},
		{"hosts:\n  cc: {name: fixed, window: -1B}", "a.yaml:2:29: hosts.cc.window: window is -1B (expected 0B for no window, or more)"},
		{"hosts:\n  cc: {name: dcqcn, min_rate: 100Gbps}", ""},
		{"hosts:\n  cc: {name: dcqcn, min_rate: 101Gbps}", "a.yaml:2:31: hosts.cc.min_rate: min_rate is 101Gbps on hosts with a line rate of 100Gbps (expected at most the line rate)"},
	} {
		_, err := Parse("a.yaml", []byte(c.text))
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}
