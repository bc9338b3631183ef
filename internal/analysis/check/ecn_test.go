package check

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// oneSwitch has four hosts at 100 Gbps. Of its 1,000,000 B, 4 x 30,000 B are headroom and
// 880,000 B are shared.
const oneSwitch = `
name: one
topology: {name: one-switch, hosts: 4, host_link: {rate: 100Gbps, delay: 1us}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
switch:
  buffer: {size: 1000000B}
  policy: {name: dt, alpha: 1/4}
  flow_control: {name: pfc, headroom: 30000B}
  ecn: {name: step, k: 150000B}
hosts:
  cc: {name: dcqcn}
workload:
  - {name: a, generator: incast, senders: 3, size: 1MB, class: rdma}
`

// n ingress queues that grow together pause at T = alpha (S - n T), so each at
// alpha S / (1 + n alpha). The egress queue is then n times as long. For alpha = 1/4 and
// S = 880,000 B that is 176,000 B for n = 1, 293,333 B for n = 2 and 377,142 B for n = 3 (all
// other ports), plus or minus a frame of 1048 B per port.
func TestLateMarks(t *testing.T) {
	for _, c := range []struct {
		k     string
		from  int // number of sending ports from which marks come first
		found bool
	}{
		{"150000B", 1, false}, {"250000B", 2, false}, {"350000B", 3, true}, {"380000B", 0, true},
	} {
		text := strings.Replace(oneSwitch, "150000B", c.k, 1)
		f := findings(runCheck(t, text, Options{}), KindECN)
		if (len(f) == 1) != c.found || len(f) > 1 {
			t.Fatalf("k %s: %+v", c.k, f)
		}
		if !c.found {
			continue
		}
		late := f[0].Late
		near := func(got, want, slack units.Bytes) bool { return got >= want-slack && got <= want+slack }
		if late.From != c.from || !near(late.Alone, 176_000, 1048) || c.from == 0 && !near(late.Reach, 377_142, 3*1048) || len(f[0].Where) != 4 {
			t.Errorf("k %s: %+v, %+v", c.k, f[0], late)
		}
		if strings.Contains(f[0].What, "only if at least 3 ports") != (c.from == 3) || f[0].Level != Note {
			t.Errorf("k %s: %s", c.k, f[0].What)
		}
	}
	// No congestion control needs marks: no finding.
	if f := findings(runCheck(t, strings.Replace(strings.Replace(oneSwitch, "dcqcn", "none", 1), "150000B", "9MB", 1), Options{}), KindECN); len(f) != 0 {
		t.Errorf("without congestion control: %+v", f)
	}
}

// No port marks frames, but some congestion controls need marks, according to their traits.
func TestNoMarks(t *testing.T) {
	none := strings.Replace(oneSwitch, "{name: step, k: 150000B}", "{name: none}", 1)
	for cc, want := range map[string]int{"dcqcn": 1, "dctcp": 1, "timely": 0, "none": 0} {
		f := findings(runCheck(t, strings.Replace(none, "dcqcn", cc, 1), Options{}), KindECN)
		if len(f) != want || want == 1 && (f[0].Level != Problem || !strings.Contains(f[0].What, cc+" needs congestion marks")) {
			t.Errorf("%s: %+v", cc, f)
		}
	}
}

// A check reports what a run rejects, with its location: a timeout of 1 us, which is below the
// round trip of over 4 us, and a measured time in which no flow starts.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, text, at, what string }{
		{"timeout", strings.Replace(oneSwitch, "  cc: {name: dcqcn}", "  cc: {name: dcqcn}\n  reliability: {timeout: 1us}", 1), "a.yaml:14:26", "round trip"},
		{"nothing measured", oneSwitch + "run: {arrivals: 1ms, measure: {from: 500us}}\n", "a.yaml:16:", "3 flows"},
		{"sound", oneSwitch, "", ""},
	} {
		f := findings(runCheck(t, c.text, Options{}), KindRun)
		if c.what == "" {
			if len(f) != 0 {
				t.Errorf("%s: %+v", c.name, f)
			}
			continue
		}
		if len(f) != 1 || f[0].Level != Problem || !strings.HasPrefix(f[0].At, c.at) || !strings.Contains(f[0].What, c.what) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
