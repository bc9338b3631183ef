package check

import (
	"slices"
	"strings"
	"testing"
)

func TestForwardingWatchdogIsNoted(t *testing.T) {
	const topology = "topology: {name: ring, switches: 3, hosts_per_switch: 1}\n"
	for _, c := range []struct {
		name, text string
		where      []string
		at         string
	}{
		{"forward", topology + "switch: {deadlock: {name: watchdog, action: forward}}\n", []string{"switch0", "switch1", "switch2"}, ":2:45"},
		{"override", topology + "switch: {overrides: [{match: switch1, deadlock: {name: watchdog, action: forward}}]}\n", []string{"switch1"}, ":2:74"},
		{"drop", topology + "switch: {deadlock: {name: watchdog}}\n", nil, ""},
		{"alert", topology + "switch: {deadlock: {name: watchdog, action: alert}}\n", nil, ""},
		{"lossy", topology + "classes: {control: {ids: [0], kind: control}, tcp: {ids: [1], kind: lossy}}\nswitch: {deadlock: {name: watchdog, action: forward}}\n", nil, ""},
	} {
		got := findings(runCheck(t, c.text, Options{}), KindPauses)
		if c.where == nil {
			if len(got) != 0 {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Level != Note || !slices.Equal(got[0].Where, c.where) || !strings.HasSuffix(got[0].At, c.at) ||
			!strings.Contains(got[0].What, "despite a pause") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
