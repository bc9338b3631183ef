package check

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// damaged has four hosts that send to one; the cable of the first corrupts a tenth of its
// frames for 1 ms.
const damaged = `
name: damaged
seed: 2
topology: {name: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 4}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
switch:
  buffer: {size: 2MB}
  pfc: {hold: indefinite}
hosts:
  cc: {name: none}
workload:
  - {name: a, generator: incast, senders: 4, size: 4MB, from: leaf0, to: host4}
faults:
  - {at: 0s, link: host0-leaf0, corrupt: 0.1, for: 1ms}
run: {arrivals: 1ms, stop: {when: all_flows_done, at_most: 20ms}}
`

// simulate runs a scenario to its end.
func simulate(t *testing.T, text string, set ...string) (*fabric.Fabric, *sim.Fast) {
	t.Helper()
	cfg, err := scenario.Parse("a.yaml", []byte(text), set...)
	if err != nil {
		t.Fatal(err)
	}
	built, err := fabric.New(cfg, fabric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fast, err := sim.NewFast(built.Spec, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fast.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return built, fast
}

// unfinished runs a scenario and returns the number of flows that do not finish.
func unfinished(t *testing.T, text string) int {
	t.Helper()
	built, _ := simulate(t, text)
	left := 0
	for i := range built.Flows.Flow {
		if !built.Flows.Done(i) {
			left++
		}
	}
	return left
}

// If pauses do not expire, a lost RESUME pauses host0 forever, even after the fault of the
// cable has ended. The check reports it at the line of the fault, line 16.
func TestLostResume(t *testing.T) {
	timed := strings.Replace(damaged, "indefinite", "timed", 1)
	for _, c := range []struct {
		name, text string
		left       int
		at         []string // locations of findings
	}{
		{"indefinite", damaged, 1, []string{"a.yaml:16:42"}},
		{"timed", timed, 0, nil},
	} {
		if left := unfinished(t, c.text); left != c.left {
			t.Errorf("%s: %d flows do not finish, want %d", c.name, left, c.left)
		}
		var at []string
		for _, f := range findings(runCheck(t, c.text, Options{}), KindPauses) {
			at = append(at, f.At)
			if f.Level != Problem || !reflect.DeepEqual(f.Where, []string{"leaf0.port0"}) || !reflect.DeepEqual(f.Links, []string{"host0-leaf0"}) {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if !reflect.DeepEqual(at, c.at) {
			t.Errorf("%s: findings at %v, want %v", c.name, at, c.at)
		}
	}
}

// The finding names both ends of a cable between switches, but not an end whose pauses are
// timed or that never pauses. There is none for a link that is only down.
func TestLostResumeByPort(t *testing.T) {
	fabric := strings.Replace(damaged, "host0-leaf0", "leaf0-spine0", 1)
	override := func(keys string) string {
		return strings.Replace(fabric, "  pfc:", "  overrides: [{match: spine0, "+keys+"}]\n  pfc:", 1)
	}
	for _, c := range []struct {
		name, text string
		where      []string
	}{
		{"both ends", fabric, []string{"leaf0.port4", "spine0.port0"}},
		{"one end is timed", override("pfc: {hold: timed}"), []string{"leaf0.port4"}},
		{"one end never pauses", override("flow_control: {name: none}"), []string{"leaf0.port4"}},
		{"down", strings.Replace(fabric, "corrupt: 0.1, for: 1ms", "down_for: 1ms", 1), nil},
		{"lossy", strings.Replace(fabric, "kind: lossless", "kind: lossy", 1), nil},
	} {
		var where []string
		for _, f := range findings(runCheck(t, c.text, Options{}), KindPauses) {
			where = append(where, f.Where...)
		}
		if !reflect.DeepEqual(where, c.where) {
			t.Errorf("%s: %v, want %v", c.name, where, c.where)
		}
	}
}

// The run ends at 20 ms: a fault at 20 ms or later never happens. Of a fault that repeats
// every 5 ms from 1 ms, those at 1, 6, 11 and 16 ms happen.
func TestFaultsAfterTheEnd(t *testing.T) {
	for _, c := range []struct {
		fault string
		level Level
		what  string
	}{
		{"{at: 20ms, link: host0-leaf0, down_for: 1ms}", Problem, "the fault of host0-leaf0 never happens"},
		{"{at: 1s, host: host3, stuck: true, for: 1ms}", Problem, "the fault of host3 never happens"},
		{"{at: 1ms, link: host0-leaf0, down_for: 1ms, times: 6, every: 5ms}", Note, "host0-leaf0 fails 4 times before the run ends at 20ms, not 6 times"},
		{"{at: 1ms, link: host0-leaf0, down_for: 1ms, times: 4, every: 5ms}", "", ""},
		{"{at: 19ms, link: host0-leaf0, down_for: 10ms}", "", ""},
	} {
		from := strings.Index(damaged, "  - {at:")
		to := strings.Index(damaged, "run: ")
		f := findings(runCheck(t, damaged[:from]+"  - "+c.fault+"\n"+damaged[to:], Options{}), KindFaults)
		if c.what == "" {
			if len(f) != 0 {
				t.Errorf("%s: %+v", c.fault, f)
			}
			continue
		}
		if len(f) != 1 || f[0].Level != c.level || !strings.Contains(f[0].What, c.what) || f[0].At != "a.yaml:16:10" {
			t.Errorf("%s: %+v", c.fault, f)
		}
	}
}
