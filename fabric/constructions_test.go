package fabric

import (
	"testing"

	"github.com/xoff-net/xoff/scheme/flowctl"
)

// Flow control is constructed once per setting and layout, not per port: ports with the
// same settings share it. Here 32 switches have 768 ports, and ports to spine0 have a
// different setting.
func TestFlowControlConstructedOncePerSetting(t *testing.T) {
	pfc, err := flowctl.Schemes.Get("pfc")
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	counted := pfc
	counted.Name, counted.Alias = "counted", nil
	counted.New = func(params any) (flowctl.Scheme, error) {
		made++
		return pfc.New(params)
	}
	flowctl.Schemes.Register(counted)
	cfg, err := Parse("a.yaml", []byte(`
topology: {name: leaf-spine, leaves: 16, spines: 16, hosts_per_leaf: 16}
switch:
  flow_control: {name: counted}
  overrides: [{match: "leaf*.to-spine0", flow_control: {delta: 1KB}}]
workload: [{name: w, generator: flows, flows: [{from: host0, to: host20, size: 1KB, start: 0s}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg, Options{}); err != nil {
		t.Fatal(err)
	}
	const settings, layouts = 2, 3 // Parse validates; New validates and builds
	if made > settings*layouts {
		t.Errorf("flow control was constructed %d times, want at most %d", made, settings*layouts)
	}
}
