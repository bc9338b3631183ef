package scenario

import (
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// TestFollows checks defaults that depend on other keys.
func TestFollows(t *testing.T) {
	c, err := Parse("a.yaml", []byte(`
classes: {zeta: {ids: [7], kind: control}, acks: {ids: [6], kind: control}, rdma: {ids: [3, 4], kind: lossless}, tcp: {ids: [2], kind: lossy}}
switch: {ports: 64}
hosts: {reliability: {timeout: 100ms}}
workload: [{name: a, generator: poisson, sizes: 1KB, load: {share: 0.1, of: host_links}}]
run: {arrivals: 3ms}
`))
	if err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string][2]any{
		"scheduler.strict":        {c.Switch.Scheduler.Strict, []string{"acks", "zeta"}},
		"scheduler.groups":        {c.Switch.Scheduler.Groups, []string{"rdma", "tcp"}},
		"ecn.classes":             {c.Switch.ECN.Classes, []string{"rdma", "tcp"}},
		"ack.class":               {c.Hosts.Ack.Class, "acks"},
		"workload.class":          {c.Workload[0].Class.Fixed, "2"},
		"buffer.reserve_for":      {c.Switch.Buffer.ReserveFor, "chip"},
		"measure.to":              {c.Run.Measure.To, 3 * units.Millisecond},
		"reliability.max_timeout": {c.Hosts.Reliability.MaxTimeout, 100 * units.Millisecond},
	} {
		if !reflect.DeepEqual(x[0], x[1]) {
			t.Errorf("%s is %v, want %v", what, x[0], x[1])
		}
	}
}

// keyAt returns the description of a key.
func keyAt(t *testing.T, path ...string) Key {
	t.Helper()
	keys, found := Describe(), Key{}
	for _, name := range path {
		found = Key{}
		for _, k := range keys {
			if k.Name == name {
				found = k
			}
		}
		keys = found.Keys
	}
	if found.Name == "" {
		t.Fatalf("there is no key %v", path)
	}
	return found
}

// TestStatedDefaults checks documented defaults: values, and words for those that depend on
// other keys.
func TestStatedDefaults(t *testing.T) {
	const classes = "{control: {ids: [0], kind: control}, rdma: {ids: [1, 2, 3, 4, 5, 6, 7], kind: lossless}}"
	if k := keyAt(t, "classes"); k.Default != classes {
		t.Errorf("default of classes is %s, want %s", k.Default, classes)
	}
	for path, want := range map[string]string{
		"switch.scheduler.strict": "the groups of kind control", "hosts.ack.class": "the first group of kind control, by name",
		"switch.buffer.reserve_for": "chip if switch.ports is set, else cabled", "run.measure.to": "run.arrivals",
		"workload.class": "the lowest id that is not of kind control", "switch.mtu": "largest frame that hosts send",
	} {
		if k := keyAt(t, strings.Split(path, ".")...); k.Follows != want {
			t.Errorf("%s follows %q, want %q", path, k.Follows, want)
		}
	}
}

// TestSchemes checks that the summary includes the schemes of overrides and of used
// transports.
func TestSchemes(t *testing.T) {
	for text, want := range map[string]string{
		"name: a": "flow control pfc, buffer policy dt, congestion control dcqcn, ECN red",
		`
switch:
  overrides:
    - {match: "leaf*", flow_control: {name: dsh}, policy: {alpha: 1/4}}
    - {match: leaf0.port1, ecn: {name: none}}
  deadlock: {name: none}
hosts:
  transports: {tcp: {cc: {name: cubic}, reliability: {name: sack}}, unused: {cc: {name: hpcc}}}
  overrides: [{match: host1, cc: {name: none}}]
routing: {name: spray}
workload: [{name: a, generator: poisson, sizes: 1KB, transport: tcp}]
`: "flow control pfc (dsh at leaf*), buffer policy dt ({alpha: 1/4} at leaf*), congestion control dcqcn (none at host1, cubic for transport tcp), " +
			"ECN red (none at leaf0.port1), routing spray, reliability go-back-n (sack for transport tcp)",
	} {
		c, err := Parse("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Schemes(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
