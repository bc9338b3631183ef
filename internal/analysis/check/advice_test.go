package check

import (
	"strings"
	"testing"
)

// At 100 Gbps and 20 us each way, with slots of 10 us, line rate needs 6 slots of 125,000 B
// and 64 + 2 x 1048 B; bdp+1 is 5 slots.
func TestAdviceOfFlowControl(t *testing.T) {
	text := `
topology: {name: linear, fabric_link: {rate: 100Gbps, delay: 20us}}
switch:
  buffer: {size: 8MiB}
  overrides: [{match: "switch*.to-switch*", flow_control: {name: bifrost, buffer: bdp+1}}]
`
	got := findings(runCheck(t, text, Options{}), KindHeadroom)
	if len(got) != 1 || got[0].Level != Note || len(got[0].Where) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"627160 B", "752160 B", "100Gbps, 20us each way, slots of 10us"} {
		if !strings.Contains(got[0].What, want) {
			t.Errorf("%q does not contain %q", got[0].What, want)
		}
	}
	if want := "flow_control: {buffer: 752160B}, or bdp+3"; got[0].Fix != want {
		t.Errorf("advice is %q, want %q", got[0].Fix, want)
	}
	if list := findings(runCheck(t, strings.Replace(text, "bdp+1", "bdp+2", 1), Options{}), KindHeadroom); len(list) != 0 {
		t.Errorf("with bdp+2: %+v", list)
	}
}
