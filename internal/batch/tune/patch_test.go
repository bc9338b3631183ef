package tune

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// leaf is a scenario with a counterpart in SONiC.
const leaf = `
name: leaf
topology: {name: one-switch, hosts: 2, host_link: {rate: 100Gbps, delay: 202.021ns}}
classes:
  control: {ids: [7], kind: control}
  lossless: {ids: [3], kind: lossless}
switch:
  buffer: {size: 20000000B, cell: 256B, per_packet: 0B, headroom_pool: 1000000B}
  policy: {name: chip, alpha_lossy: 1, egress_lossless: 20000000B, egress_lossless_limit: 0B, egress_lossy: 0B}
  flow_control: {name: sonic, headroom: 166400B, xon: 5120B, xon_offset: 5120B, minimum: 5120B, alpha: 1/2, borrow: false}
  mtu: 9100B
  ecn: {name: red, kmin: 200KB, kmax: 2MB, pmax: 0.05}
  scheduler: {name: dwrr, quanta: {3: 4800B}}
workload:
  - {name: incast, generator: incast, senders: 1, size: 200KB, class: 3}
run:
  stop: {when: all_flows_done, at_most: 1s}
`

func study(t *testing.T, text string, vary ...string) *Study {
	t.Helper()
	s, err := NewStudy(&sweep.Grid{Name: "test.yaml", Data: []byte(text)}, &Question{Vary: vary, Minimise: []string{"fct.p99"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Grid.Seeds = []uint64{1}
	return s
}

// Alpha 1/2 is a dynamic_th of -1, alpha 2 one of 1.
func TestSwitchPatches(t *testing.T) {
	s := study(t, leaf, "switch.flow_control.alpha=1/64..4", "switch.ecn.kmin=100KB..2MB")
	chips, err := (&sonic.Extra{Chip: "td3"}).Choices()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CheckSwitches(chips.Need); err != nil {
		t.Fatal(err)
	}
	a := &Answer{study: s, best: []int{7, 1}} // 2 and 110KB
	files, err := a.SwitchPatches(chips.Need)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v (expected 1)", len(files), err)
	}
	got := string(files[0].Text)
	at := 0
	for _, want := range []string{
		`"op": "add"`, `"path": "/WRED_PROFILE/ECN_110000_2000000_5"`, `"red_min_threshold": "110000"`,
		`"op": "replace"`, "/dynamic_th\",\n    \"value\": \"1\"", `"path": "/QUEUE/Ethernet0|3/wred_profile"`,
		`"op": "remove"`, `"path": "/WRED_PROFILE/ECN_200000_2000000_5"`,
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("patch lacks %s after %d:\n%s", want, at, got)
		}
		at += i
	}
	if strings.Contains(got, "BUFFER_POOL") {
		t.Errorf("patch changes more than the keys:\n%s", got)
	}
}

// Overrides that set a key keep their values.
func TestNotes(t *testing.T) {
	text := strings.Replace(leaf, "  mtu: 9100B\n", `  mtu: 9100B
  overrides:
    - {match: "*.port0", mtu: 1500B}
    - {match: "*.port1", flow_control: {name: sonic, alpha: 1/2}}
`, 1)
	for key, want := range map[string]string{
		"switch.flow_control.alpha=1/64..4":              "[switch.flow_control.alpha does not reach *.port1, where switch.overrides set it; to vary it there, remove it from these overrides, or also --vary switch.overrides[1].flow_control.alpha]",
		"switch.ecn.kmin=100KB..2MB":                     "[]",
		"switch.overrides[1].flow_control.alpha=1/64..4": "[]",
		"hosts.payload=500B..1000B":                      "[]",
		"run.stop.at_most=1ms..1s":                       "[]",
	} {
		if got := fmt.Sprint(study(t, text, key).Notes); got != want {
			t.Errorf("%s: %s (expected %s)", key, got, want)
		}
	}
}

func TestPatch(t *testing.T) {
	a := &Answer{Scenario: "leaf", Message: "better", Set: []string{"switch.policy.alpha=1/4", "hosts.cc={name: none}", "switch.ecn.kmin=110KB", "workload[0].size=1MB", "switch.policy.alpha_lossy=2"}}
	var out bytes.Buffer
	if err := a.WritePatch(&out); err != nil {
		t.Fatal(err)
	}
	want := `# Changes of leaf: better.
# --set workload[0].size=1MB
switch:
  policy:
    alpha: 1/4
    alpha_lossy: 2
  ecn:
    kmin: 110KB
hosts:
  cc: {name: none}
`
	if out.String() != want {
		t.Errorf("patch is\n%s(expected\n%s)", out.String(), want)
	}
}

func TestLimits(t *testing.T) {
	names := []string{"drops.lossless", "fct_ps.p99"}
	for text, want := range map[string]string{
		"drops.lossless=0": "== 0", "drops.lossless==0": "== 0", "drops.lossless <= 5": "<= 5", "fct.p99<200us": "< 2e+08", "fct.p99 >= 1us": ">= 1e+06", "drops.lossless != 0": "!= 0",
		"drops.lossless": "error", "drops.lossless=": "error", "=0": "error",
	} {
		c, err := parseLimit(text, names)
		got := "error"
		if err == nil {
			got = fmt.Sprint(c.Op, " ", c.Value)
		}
		if got != want {
			t.Errorf("%s: %s, %v (expected %s)", text, got, err, want)
		}
	}
}
