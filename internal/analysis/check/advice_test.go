package check

import (
	"strings"
	"testing"
)

// At 100 Gbps and 20 us each way, with slots of 10 us: line rate needs 6 slots of
// 125,000 B and 64 + 2 x 1048 B; bdp+1 is 5.
func TestAdviceOfFlowControl(t *testing.T) {
	text := `
topology: {name: linear, fabric_link: {rate: 100Gbps, delay: 20us}}
switch:
  buffer: {size: 8MiB}
  overrides: [{match: "switch*.to-switch*", flow_control: {name: bifrost, buffer: bdp+1}}]
`
	got := about(read(t, text, Options{}), OfHeadroom)
	if len(got) != 1 || got[0].Level != Note || len(got[0].Where) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"a buffer of 627160 B, but only from 752160 B on the link runs at line rate", "100Gbps, 20us each way, slots of 10us"} {
		if !strings.Contains(got[0].What, want) {
			t.Errorf("%q does not say %q", got[0].What, want)
		}
	}
	if want := "flow_control: {buffer: 752160B}, or bdp+3"; got[0].Fix != want {
		t.Errorf("advice is %q, want %q", got[0].Fix, want)
	}
	if list := about(read(t, strings.Replace(text, "bdp+1", "bdp+2", 1), Options{}), OfHeadroom); len(list) != 0 {
		t.Errorf("with bdp+2: %+v", list)
	}
}
