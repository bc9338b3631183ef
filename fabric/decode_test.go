package fabric

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
)

var rewrite = flag.Bool("rewrite", false, "write the actual messages to testdata")

// brokenCase is an invalid scenario and its error message.
type brokenCase struct{ name, text, want string }

// readBroken reads testdata/broken*.txt: `-- name --`, a scenario, `=> message`.
func readBroken(t testing.TB) map[string][]brokenCase {
	files, err := filepath.Glob("testdata/broken*.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := make(map[string][]brokenCase)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split("\n"+string(data), "\n-- ")[1:] {
			head, body, _ := strings.Cut(part, " --\n")
			text, want, ok := strings.Cut("\n"+body, "\n=> ")
			if !ok {
				t.Fatalf("case %q has no message", head)
			}
			text = strings.TrimPrefix(text+"\n", "\n")
			cases[file] = append(cases[file], brokenCase{head, text, withNames(strings.TrimSpace(want))})
		}
	}
	return cases
}

// withNames replaces <kind> by the names of all schemes of the kind, so that a new scheme
// does not change the expected messages. withoutNames does the reverse.
func withNames(message string) string {
	for _, k := range scenario.Kinds() {
		message = strings.ReplaceAll(message, "<"+k.Name+">", namesOf(k))
	}
	return message
}

func withoutNames(message string) string {
	for _, k := range scenario.Kinds() {
		message = strings.ReplaceAll(message, "allowed: "+namesOf(k), "allowed: <"+k.Name+">")
		message = strings.ReplaceAll(message, "generator: "+namesOf(k), "generator: <"+k.Name+">")
	}
	return message
}

func namesOf(k scenario.Kind) string {
	var names []string
	for _, s := range k.Schemes {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func TestBroken(t *testing.T) {
	n := 0
	for file, cases := range readBroken(t) {
		n += len(cases)
		testBroken(t, file, cases)
	}
	if n < 170 {
		t.Fatalf("only %d cases were read", n)
	}
}

func testBroken(t *testing.T, file string, cases []brokenCase) {
	var out strings.Builder
	for _, c := range cases {
		_, err := Parse("a.yaml", []byte(c.text))
		got := fmt.Sprint(err)
		fmt.Fprintf(&out, "-- %s --\n%s=> %s\n\n", c.name, c.text, withoutNames(got))
		t.Run(c.name, func(t *testing.T) {
			var in *scenario.InputError
			if !errors.As(err, &in) || in.Line < 1 || in.Column < 1 {
				t.Fatalf("%v is not a scenario.InputError with a location", err)
			}
			if got != c.want && !*rewrite {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if strings.Contains(got, "\n") || !helpful(got) {
				t.Errorf("%q is not one line that says what is expected", got)
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// helpful reports whether a message says what is expected or how to fix the problem.
func helpful(message string) bool {
	for _, s := range []string{"(expected ", "(allowed: ", "must ", "cannot ", "fix: "} {
		if strings.Contains(message, s) {
			return true
		}
	}
	return false
}

func TestExcerpt(t *testing.T) {
	_, err := Parse("a.yaml", []byte("name: a\ntopology: {leaves: 0}\n"))
	var in *scenario.InputError
	if !errors.As(err, &in) {
		t.Fatal(err)
	}
	want := "    2 | topology: {leaves: 0}\n      |                    ^\n"
	if got := in.Excerpt(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	_, err = Parse("a.yaml", []byte("name: a\nseed: "+strings.Repeat("x", 500)+"\n"))
	if !errors.As(err, &in) || in.Excerpt() != "" {
		t.Errorf("a long line is shown: %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := ReadFile("testdata/none.yaml")
	var in *scenario.InputError
	if !errors.As(err, &in) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Without a file the message names only the key.
func TestInvalidConfig(t *testing.T) {
	c := scenario.Default()
	c.Topology.Params.(*topo.LeafSpineParams).Leaves = 0
	_, err := New(c, Options{})
	var in *scenario.InputError
	if !errors.As(err, &in) || err.Error() != "topology.leaves: leaves is 0, which is too small (expected 1 to 1024)" {
		t.Errorf("got %v", err)
	}
}

// An error that depends on several keys is located even after the configuration changed.
func TestBuildLocates(t *testing.T) {
	c, err := Parse("a.yaml", []byte("name: a\nswitch:\n  buffer:\n    size: 4MiB\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.Topology.Params.(*topo.LeafSpineParams).HostLink.Delay = 100 * units.Microsecond
	_, err = New(c, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:4:11: switch.buffer.size: private segments and headroom of leaf0 need ") {
		t.Errorf("got %v", err)
	}
}

func parse(t *testing.T, text string, set ...string) *scenario.Config {
	t.Helper()
	c, err := Parse("a.yaml", []byte(text), set...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A file overrides defaults key by key; maps and lists are replaced whole.
func TestOverride(t *testing.T) {
	c := parse(t, `
classes:
  acks: {ids: [7], kind: control}
  data: {ids: [2, 4], kind: lossless}
  bulk: {ids: [5], kind: lossy}
switch:
  ports: 16
  policy: {alpha: 0.25}
  flow_control: {headroom: eq1}
  ecn: {classes: [data], name: step, k: 50KB}
hosts:
  cc: {rai: 10Mbps, preset: paper, name: dcqcn}
  reliability: {timeout: 100ms}
workload:
  - {name: a, generator: poisson, sizes: 10KB, load: {share: 0.1, of: host_links}, class: {random: data}}
  - {name: b, generator: poisson, sizes: cache, load: {share: 0.1, of: host_links}, class: 4}
  - {name: c, generator: incast, senders: 2, size: 1KB, to: host3, at: 0}
`)
	s := &c.Switch
	if len(c.Classes) != 3 {
		t.Errorf("classes are %v", c.Classes)
	}
	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"strict", s.Scheduler.Strict, []string{"acks"}},
		{"dwrr", s.Scheduler.Groups, []string{"bulk", "data"}},
		{"ack class", c.Hosts.Ack.Class, "acks"},
		{"reserve_for", s.Buffer.ReserveFor, "chip"},
		{"policy", s.Policy, scenario.Choice{Name: "dt", Params: &buffer.DTParams{Alpha: units.Ratio{Num: 1, Den: 4}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}}},
		{"flow control", s.FlowControl, scenario.Choice{Name: "pfc", Params: &flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleEq1}}}},
		{"ecn", s.ECN, scenario.ECN{Choice: scenario.Choice{Name: "step", Params: &mark.StepParams{K: 50 * units.KB}}, Classes: []string{"data"}, At: "dequeue"}},
		{"max_timeout", c.Hosts.Reliability.MaxTimeout, 100 * units.Millisecond},
		{"random class", c.Workload[0].Class, scenario.ClassChoice{Random: "data"}},
		{"class by id", c.Workload[1].Class, scenario.ClassChoice{Fixed: "4"}},
		{"default class", c.Workload[2].Class, scenario.ClassChoice{Fixed: "2"}},
		{"pairs", c.Workload[2].Pairs, "any"},
		{"measured until", c.Run.Measure.To, c.Run.Arrivals},
	} {
		if !reflect.DeepEqual(check.got, check.want) {
			t.Errorf("%s is %+v, want %+v", check.name, check.got, check.want)
		}
	}
	p := c.Hosts.CC.Params.(*cc.DCQCNParams)
	if p.Preset != "paper" || p.AI != 10*units.Mbps || p.HAI != 400*units.Mbps || !p.ClampTarget {
		t.Errorf("dcqcn is %+v", p)
	}
}

// A scenario with every notation, at the size of a paper's experiment.
func TestNotations(t *testing.T) {
	c := parse(t, `
name: fan-in over a background
topology:
  name: leaf-spine
  leaves: 16
  spines: 16
  hosts_per_leaf: 16
  host_link:   {rate: 100Gbps, delay: 2us}
  fabric_link: {rate: 100Gbps, delay: 2us}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [1, 2, 3, 4, 5, 6, 7], kind: lossless}
switch:
  ports: 32
  buffer: {size: 16MiB, private_per_queue: 3KB}
  policy: {name: dt, alpha: 1/16}
  flow_control:
    name: pfc
    headroom: 60000B   # seven of 32 ports: 13.4 MB
  pfc: {hold: timed, quanta: 65535, processing: 0ns}
  scheduler: {strict: [control], dwrr: [rdma], quantum: 1600B}
  ecn: {name: red, classes: [rdma], at: dequeue, kmin: 400KB, kmax: 1600KB, pmax: 0.2}
  deadlock: {name: none}
routing: {name: ecmp, reroute_after: 0s}
hosts:
  payload: 1000B
  header: 48B
  ack: {every: 1, class: control}
  reliability: {name: go-back-n, timeout: 1ms}
  cc: {name: dcqcn, preset: hpcc-sim}
workload:
  - name: background
    generator: poisson
    sizes: websearch
    load: {share: 0.6, of: host_links}
    pairs: any
    class: {random: rdma}
  - name: fanin
    generator: incast
    senders: 16
    size: 64KB
    load: {share: 0.3, of: host_links}
    pairs: other_rack
    class: {random: rdma}
faults: []
run:
  arrivals: 20ms
  measure: {from: 2ms, to: 20ms}
  stop: {when: measured_flows_done, at_most: 500ms}
`)
	if c.Switch.Buffer.ReserveFor != "chip" || c.Hosts.Ack.Size != 64 || len(c.Workload) != 2 || c.Faults != nil {
		t.Errorf("got %+v", c)
	}
}

// A scheduler is selected by name or, as in older files, by a list under its name.
func TestSchedulerForms(t *testing.T) {
	quantum := func(c *scenario.Config) units.Bytes { return c.Switch.Scheduler.Params.(*sched.DWRRParams).Quantum }
	classes := "classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}, tcp: {ids: [2], kind: lossy}}\n"
	for _, c := range []struct {
		text, name     string
		strict, groups []string
	}{
		{"", "dwrr", []string{"control"}, []string{"rdma", "tcp"}},
		{"{rr: [rdma, tcp], strict: [control]}", "rr", []string{"control"}, []string{"rdma", "tcp"}},
		{"{name: rr}", "rr", []string{"control"}, []string{"rdma", "tcp"}},
		{"{name: rr, strict: [tcp]}", "rr", []string{"tcp"}, []string{"control", "rdma"}},
		{"{dwrr: [tcp, rdma], quantum: 3KB}", "dwrr", []string{"control"}, []string{"tcp", "rdma"}},
		{"{dwrr: [tcp, control, rdma]}", "dwrr", []string{}, []string{"tcp", "control", "rdma"}},
		{"{rr: [rdma, tcp], quantum: 3KB}", "rr", []string{"control"}, []string{"rdma", "tcp"}},
		{"{strict: [control, rdma, tcp]}", "dwrr", []string{"control", "rdma", "tcp"}, []string{}},
		{"{name: strict}", "strict", []string{"control"}, []string{"rdma", "tcp"}},
	} {
		text := classes
		if c.text != "" {
			text += "switch: {scheduler: " + c.text + "}\n"
		}
		cfg := parse(t, text)
		s := cfg.Switch.Scheduler
		if s.Name != c.name || fmt.Sprint(s.Strict) != fmt.Sprint(c.strict) || fmt.Sprint(s.Groups) != fmt.Sprint(c.groups) {
			t.Errorf("%s: got %s, strict %v, groups %v", c.text, s.Name, s.Strict, s.Groups)
		}
		if strings.Contains(c.text, "dwrr: ") && strings.Contains(c.text, "3KB") && quantum(cfg) != 3000 {
			t.Errorf("%s has a quantum of %s", c.text, quantum(cfg))
		}
	}
	if c := parse(t, "switch: {scheduler: {quantum: 5KB}}"); c.Switch.Scheduler.Name != "dwrr" || quantum(c) != 5000 {
		t.Errorf("scheduler is %+v", c.Switch.Scheduler)
	}
}

// The canonical form of a scheduler, which is hashed, does not depend on its notation. It
// is the form used before schedulers had names.
func TestCanonical(t *testing.T) {
	const want = "  scheduler:\n    strict:\n      - control\n    dwrr:\n      - rdma\n    quantum: 3KB\n  ecn:"
	for _, form := range []string{"{strict: [control], dwrr: [rdma], quantum: 3KB}", "{name: dwrr, quantum: 3KB}", "{quantum: 3KB, groups: [rdma], strict: [control], name: dwrr}"} {
		text, err := parse(t, "switch: {scheduler: "+form+"}").Canonical()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%s", form, err, text)
		}
	}
	// A quantum was permitted with rr and hashed, although it has no effect there.
	const classes = "classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}, tcp: {ids: [2], kind: lossy}}\n"
	const rr = "  scheduler:\n    strict:\n      - control\n    rr:\n      - rdma\n      - tcp\n%s  ecn:"
	for form, quantum := range map[string]string{
		"{strict: [control], rr: [rdma, tcp], quantum: 3200B}":             "    quantum: 3.2KB\n",
		"{strict: [control], rr: [rdma, tcp], quantum: 3200B, quanta: {}}": "    quantum: 3.2KB\n",
		"{strict: [control], rr: [rdma, tcp], quantum: 0}":                 "",
		"{strict: [control], rr: [rdma, tcp]}":                             "    quantum: 1.6KB\n",
		"{name: rr, groups: [rdma, tcp]}":                                  "    quantum: 1.6KB\n",
	} {
		c := parse(t, classes+"switch: {scheduler: "+form+"}")
		resolved, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*scenario.Config{c, parse(t, string(resolved))} {
			if text, err := c.Canonical(); err != nil || !strings.Contains(string(text), fmt.Sprintf(rr, quantum)) {
				t.Errorf("%s: %v\n%s", form, err, text)
			}
		}
		if !strings.Contains(form, "name") {
			text, err := parse(t, classes+"switch: {scheduler: "+form+"}", "switch.scheduler.quantum=5KB").Canonical()
			if err != nil || !strings.Contains(string(text), fmt.Sprintf(rr, "    quantum: 5KB\n")) {
				t.Errorf("%s with another quantum: %v\n%s", form, err, text)
			}
		}
	}
	const routing = "routing:\n  name: ecmp\n  reroute_after: 0ps\nhosts:"
	for _, form := range []string{"routing: {name: ecmp}", "routing: {name: ecmp, reroute_after: 0s, overrides: []}", "seed: 1"} {
		text, err := parse(t, form).Canonical()
		if err != nil || !strings.Contains(string(text), routing) {
			t.Errorf("%s: %v\n%s", form, err, text)
		}
	}
}

// The probe dsh is hashed as it was when it had its own columns.
func TestCanonicalDSHProbe(t *testing.T) {
	const want = `probes:
  - name: dsh
    as: dsh
    where: "*"
    from: 0ps
    every: 10us
    by: []
    zeros: false
  - name: dsh
    as: other
    where: leaf*
    from: 1us
    to: 5us
    every: 3us
    by: []
    zeros: true
output:
`
	c := parse(t, `probes: [{name: dsh}, {name: dsh, as: other, zeros: true, every: 3us, where: "leaf*", from: 1us, to: 5us, by: []}]`)
	resolved, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*scenario.Config{c, parse(t, string(resolved))} {
		if text, err := c.Canonical(); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// Newer keys are not hashed at their default.
func TestCanonicalLaterKeys(t *testing.T) {
	for form, hashed := range map[string]bool{"": false, ", form: mended": false, ", form: printed": true} {
		text, err := parse(t, "switch: {pfc: {coalesce: false}, deadlock: {name: roundabout"+form+"}}").Canonical()
		if err != nil || strings.Contains(string(text), "form: ") != hashed {
			t.Errorf("%q: hashed is %t: %v\n%s", form, !hashed, err, text)
		}
	}
}

func TestSet(t *testing.T) {
	const file = `
workload:
  - {name: a, generator: poisson, sizes: 10KB, load: {share: 0.1, of: host_links}}
`
	c := parse(t, file, "switch.policy.alpha=1/2", "workload[0].load.share=0.3", "hosts.cc.name=none", "classes.rdma.ids=[5]",
		"topology={name: one-switch, hosts: 3}", "switch.ecn.at=enqueue")
	if p := c.Switch.Policy.Params.(*buffer.DTParams); p.Alpha != (units.Ratio{Num: 1, Den: 2}) {
		t.Errorf("alpha is %v", p.Alpha)
	}
	if c.Workload[0].Load.Share != 0.3 || c.Hosts.CC.Name != "none" || c.Topology.Params.(*topo.OneSwitchParams).Hosts != 3 || c.Switch.ECN.At != "enqueue" {
		t.Errorf("got %+v", c)
	}
	if ids := c.Classes["rdma"].IDs; !reflect.DeepEqual(ids, []int{5}) {
		t.Errorf("rdma is %v", ids)
	}
	for set, want := range map[string]string{
		"topology.leafs=3":           `--set topology.leafs=3: topology: unknown key "leafs"; did you mean "leaves"? (allowed: name, down, overrides, leaves, spines, hosts_per_leaf, oversubscription, host_link, fabric_link)`,
		"topology.leaves=0":          `--set topology.leaves=0: topology.leaves: leaves is 0, which is too small (expected 1 to 1024)`,
		"workload[1].name=x":         `--set workload[1].name=x: workload: there is no item 1 (expected the index of a list item, from 0)`,
		"seed":                       `--set seed: "seed" is not a setting (expected path=value, such as switch.policy.alpha=1/8)`,
		"seed.x=1":                   `--set seed.x=1: seed: has no keys, so "x" cannot be set (expected one value)`,
		"workload[x].name=x":         `--set workload[x].name=x: "workload[x].name" is not a key (expected names joined by dots; list items as workload[0])`,
		"seed=":                      `--set seed=: bad value: "" (expected YAML)`,
		"hosts.cc.preset=x":          `--set hosts.cc.preset=x: hosts.cc.preset: unknown preset "x" (allowed: hpcc-sim, paper)`,
		"switch.policy.alpha.x=1":    `--set switch.policy.alpha.x=1: switch.policy.alpha: has no keys, so "x" cannot be set (expected one value)`,
		"switch.flow_control.name=x": `--set switch.flow_control.name=x: switch.flow_control.name: unknown flow_control "x" (allowed: <flow_control>)`,
	} {
		_, err := Parse("a.yaml", []byte(file), set)
		var in *scenario.InputError
		if want = withNames(want); !errors.As(err, &in) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestMarshal(t *testing.T) {
	d := scenario.Default()
	d.Resolve()
	check := func(name string, c *scenario.Config) {
		text, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(name, text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !sameConfig(back, c) {
			t.Errorf("%s: got %+v\nwant %+v", name, back, c)
		}
		again, err := back.Marshal()
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: the second output differs: %v", name, err)
		}
	}
	check("default", d)
	for _, name := range exampleFiles(t) {
		c, err := ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(name, c)
	}
	check("pinned and broken", parse(t, `
name: "a: b # c"
topology: {name: leaf-spine}
routing:
  name: static
  pinned: [{from: host0, to: host5, via: [leaf0, spine1, leaf1]}]
hosts:
  receive: {rate: 10Gbps, hosts: [host1]}
faults:
  - {at: 1us, link: leaf0-spine0, down_for: 1us, times: 3, every: 5us}
  - {at: 1us, link: leaf0-spine1, corrupt: 1e-7}
  - {at: 1us, host: host2, stuck: true, for: 10us}
`))
}

// A resolved scenario gives the same results.
func TestMarshalSameRun(t *testing.T) {
	c, err := ReadFile("../examples/incast.yaml", "run.arrivals=100us")
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := runOf(t, c), runOf(t, parse(t, string(text))); !reflect.DeepEqual(a, b) {
		t.Error("the resolved scenario gives other results")
	}
}

// runOf returns when each flow of a short run was done.
func runOf(t *testing.T, c *scenario.Config) []units.Time {
	built, _ := runAll(t, c)
	var done []units.Time
	for i := range built.Flows.Send {
		at := built.Flows.Send[i].Acked
		if f := &built.Flows.Flow[i]; !built.Flows.Offered(i) || f.Start+built.Ideal[i] > c.Run.Stop.AtMost {
			at = -1 // not offered, or cannot end in time
		}
		done = append(done, at)
	}
	if len(done) == 0 {
		t.Fatal("no flows")
	}
	for _, check := range built.Checks {
		if check.Broken > 0 {
			t.Error(check.First)
		}
	}
	return done
}
