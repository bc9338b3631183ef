package check

import (
	"strings"
	"testing"
)

// The preset hpcc-sim cuts every 4 us and updates alpha every 1 us; by default a flow gets a CNP
// every 50 us. The check reports what a file combines, not the defaults.
func TestRareCNPs(t *testing.T) {
	transport := func(keys string) string {
		return "  cc: {name: none}\n  transports: {a: {" + keys + "}}"
	}
	for _, c := range []struct {
		name, hosts, transport, at string
	}{
		{"default preset, default CNPs", "  cc: {name: dcqcn}", "", ""},
		{"preset, default CNPs", "  cc: {name: dcqcn, preset: hpcc-sim}", "", "hosts.cc.preset"},
		{"preset, marks in ACKs", "  cc: {name: dcqcn, preset: hpcc-sim}\n  cnp: {mode: ack}", "", ""},
		{"default preset, rare CNPs", "  cc: {name: dcqcn}\n  cnp: {interval: 50us}", "", "hosts.cnp.interval"},
		{"CNPs as often as cuts", "  cc: {name: dcqcn, preset: hpcc-sim}\n  cnp: {interval: 4us}", "", ""},
		{"slower constants", "  cc: {name: dcqcn, preset: paper}", "", ""},
		{"preset with slower cuts", "  cc: {name: dcqcn, preset: hpcc-sim, cut_interval: 50us}", "", ""},
		{"other congestion control", "  cc: {name: timely}\n  cnp: {interval: 50us}", "", ""},
		{"in a transport", transport("cc: {name: dcqcn, preset: hpcc-sim}"), "a", "hosts.transports.a.cc.preset"},
		{"in a transport that nothing uses", transport("cc: {name: dcqcn, preset: hpcc-sim}"), "", ""},
		{"in a transport, marks in ACKs", transport("cc: {name: dcqcn, preset: hpcc-sim}, cnp: {mode: ack}"), "a", ""},
	} {
		text := strings.Replace(oneSwitch, "  cc: {name: dcqcn}", c.hosts, 1)
		if c.transport != "" {
			text = strings.Replace(text, "class: rdma}", "class: rdma, transport: "+c.transport+"}", 1)
		}
		var found []Finding
		for _, f := range findings(runCheck(t, text, Options{}), KindECN) {
			if strings.HasPrefix(f.What, "DCQCN cuts") {
				found = append(found, f)
			}
		}
		if c.at == "" {
			if len(found) != 0 {
				t.Errorf("%s: %+v", c.name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Level != Note || found[0].Where[0] != c.at || !strings.HasPrefix(found[0].At, "a.yaml:") ||
			!strings.Contains(found[0].What, "every 4us and updates alpha every 1us, but a flow gets at most one CNP in 50us") {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}

// A policy may break the promise of its flow control: with unsafe_overflow lossless frames can be
// dropped, which is a problem. Go-back-N does not count as a recovery.
func TestUnsafePolicy(t *testing.T) {
	for unsafe, want := range map[string]int{"": 0, ", unsafe_overflow: true": 1} {
		text := strings.Replace(oneSwitch, "policy: {name: dt, alpha: 1/4}", "policy: {name: reverie, filter: departure"+unsafe+"}", 1)
		text = strings.Replace(text, "flow_control: {name: pfc, headroom: 30000B}", "flow_control: {name: sonic, headroom: 30000B}", 1)
		f := findings(runCheck(t, text, Options{}), KindClasses)
		if len(f) != want || want == 1 && (f[0].Level != Problem || !strings.Contains(f[0].Fix, "switch.policy")) {
			t.Errorf("%q: %+v", unsafe, f)
		}
	}
}
