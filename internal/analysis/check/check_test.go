package check

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/scenario"
)

// runCheck checks a scenario given as text.
func runCheck(t *testing.T, text string, o Options) *Report {
	t.Helper()
	c, err := scenario.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSurvey(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// findings returns the findings of a kind.
func findings(r *Report, k Kind) []Finding {
	var list []Finding
	for _, f := range r.Findings {
		if f.Kind == k {
			list = append(list, f)
		}
	}
	return list
}

// small has two leaves with two hosts each and one spine: 100 Gbps to hosts, 400 Gbps between
// switches, 1 us cables, one lossless class, frames of 1048 B.
const small = `
name: small
topology:
  name: leaf-spine
  leaves: 2
  spines: 1
  hosts_per_leaf: 2
  host_link:   {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 400Gbps, delay: 1us}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
`

// Flow control sonic has the bound of switch configurations: cable and one frame, here
// 2 x 12,500 + 1048 B to hosts and 2 x 50,000 + 1048 B between switches. With borrow, a queue of
// a port with two lossless classes has twice its headroom.
func TestGradedHeadroom(t *testing.T) {
	for _, c := range []struct {
		flow     string
		problems int
		notes    int
	}{
		{"headroom: 101048B", 0, 2},
		{"headroom: 101047B", 2, 0},
		{"headroom: 26048B", 2, 1},
		{"headroom: 26047B", 3, 0},
		{"headroom: 103208B", 0, 0},
		{"headroom: 50524B, borrow: true", 0, 2},
		{"headroom: 50523B, borrow: true", 2, 0},
	} {
		r := runCheck(t, strings.Replace(small, "ids: [3]", "ids: [3, 4]", 1)+`
switch:
  buffer: {size: 2MiB}
  flow_control: {name: sonic, `+c.flow+`}
`, Options{})
		notes := 0
		for _, f := range findings(r, KindHeadroom) {
			if f.Level == Note {
				notes++
			}
			if !strings.Contains(f.What, "if the peer reacts at once (cable and one frame of 1048 B)") || !strings.Contains(f.What, "the worst case is ") {
				t.Error(f.What)
			}
		}
		if r.Problems != c.problems || notes != c.notes {
			t.Errorf("%s: %d problems, %d notes: %+v", c.flow, r.Problems, notes, r.Findings)
		}
	}
}

// PHI* of the small fabric: 2 x 12,500 + 3 x 1048 + 64 = 28,208 B to hosts, and
// 2 x 50,000 + 3 x 1048 + 64 = 103,208 B between switches.
func TestHeadroom(t *testing.T) {
	r := runCheck(t, small+`
switch:
  buffer: {size: 1MiB}
  flow_control: {name: pfc, headroom: 28207B}
`, Options{})
	got := findings(r, KindHeadroom)
	want := []struct {
		where []string
		gap   Gap
	}{
		{[]string{"leaf0.port0", "leaf0.port1", "leaf1.port0", "leaf1.port1"}, Gap{28207, 28208, 1, 28208, "100Gbps", "1us", "1us", "0ps", 1048, 1}},
		{[]string{"leaf0.port2", "leaf1.port2"}, Gap{28207, 103208, 75001, 103208, "400Gbps", "1us", "1us", "0ps", 1048, 1}},
		{[]string{"spine0.port0", "spine0.port1"}, Gap{28207, 103208, 75001, 103208, "400Gbps", "1us", "1us", "0ps", 1048, 1}},
	}
	if len(got) != len(want) || r.Problems != len(want) {
		t.Fatalf("%d findings: %+v", len(got), r.Findings)
	}
	for i, w := range want {
		f := got[i]
		if !reflect.DeepEqual(f.Where, w.where) || *f.Headroom != w.gap || !reflect.DeepEqual(f.Classes, []int{3}) {
			t.Errorf("%+v %+v, want %+v", f, f.Headroom, w)
		}
	}
	// The leaf would have 1 MiB - 2 x 28,208 - 103,208 left.
	for _, words := range []string{"leaf*.to-spine* (2 ports)", "75001 B short", `{match: "leaf*.to-spine*", flow_control: {headroom: exact}}`, "leaf0 then has 888952 B left to share"} {
		if !strings.Contains(got[1].What+got[1].Fix, words) {
			t.Errorf("no %q in %s %s", words, got[1].What, got[1].Fix)
		}
	}
	// With one byte more at the hosts, and exact elsewhere, there is no finding.
	r = runCheck(t, small+`
switch:
  buffer: {size: 1MiB}
  flow_control: {name: pfc, headroom: 28208B}
  overrides:
    - {match: "*.to-spine*", flow_control: {headroom: exact}}
    - {match: "spine*.to-*", flow_control: {headroom: 103208B}}
`, Options{})
	if len(r.Findings) != 0 {
		t.Errorf("%+v", r.Findings)
	}
	want2 := []Budget{
		{Switches: []string{"leaf0", "leaf1"}, Size: units.MiB, Ports: 3, Headroom: 159624, Shared: 888952, Needed: 159624, Exact: 159624},
		{Switches: []string{"spine0"}, Size: units.MiB, Ports: 2, Headroom: 206416, Shared: 842160, Needed: 206416, Exact: 206416},
	}
	if !reflect.DeepEqual(r.Budgets, want2) {
		t.Errorf("budgets %+v, want %+v", r.Budgets, want2)
	}
}

// Eq. 1 ignores the frame that crosses the threshold and the PAUSE frame: with 307.2 ns
// (3840 B) of processing it is 1048 + 64 B short.
func TestHeadroomOfEq1(t *testing.T) {
	r := runCheck(t, small+`
switch:
  flow_control: {name: pfc, headroom: eq1}
  pfc: {processing: 307200ps}
  overrides: [{match: "*.to-spine*", pfc: {processing: 76800ps}}, {match: "spine*.to-*", pfc: {processing: 76800ps}}]
`, Options{})
	got := findings(r, KindHeadroom)
	if len(got) != 3 {
		t.Fatalf("%+v", r.Findings)
	}
	for _, f := range got {
		if f.Headroom.Short != 1112 || !strings.Contains(f.What, "ns to act on a pause") {
			t.Errorf("%s: %d B short, want 1112", f.Where, f.Headroom.Short)
		}
	}
}

// The pipeline of a switch delays frames that come in, but not a PAUSE to a host:
// 2 x 12,500 + 1250 + 3 x 1048 + 64.
func TestHeadroomWithLatency(t *testing.T) {
	f := findings(runCheck(t, small+"switch: {latency: 100ns, flow_control: {name: pfc, headroom: 28208B}}\n", Options{}), KindHeadroom)
	if len(f) == 0 || f[0].Headroom.Need != 29458 || !strings.Contains(f[0].What, "(100Gbps, 1us to the peer and 1.1us back, frames") {
		t.Errorf("%+v", f)
	}
}

// A host with a receive rate pauses too.
func TestHeadroomOfSlowHosts(t *testing.T) {
	const slow = `
hosts: {receive: {rate: 50Gbps, buffer: 200KB, xoff: 50KB, hosts: [host1]}}
switch: {flow_control: {name: pfc, headroom: `
	if f := findings(runCheck(t, small+slow+"exact}}\n", Options{}), KindHeadroom); len(f) != 0 {
		t.Errorf("%+v", f)
	}
	f := findings(runCheck(t, small+slow+"20KB}}\n", Options{}), KindHeadroom)
	if last := f[len(f)-1]; !reflect.DeepEqual(last.Where, []string{"host1.port0"}) || last.Headroom.Need != 28208 {
		t.Errorf("%+v", last)
	}
}

// The leaf's three ports need 100,000 B of headroom and a private segment of 3000 B each,
// 309,000 B in total; a chip with 8 ports needs 824,000 B.
func TestOvercommit(t *testing.T) {
	const flow = "flow_control: {name: pfc, headroom: 100KB}"
	for _, c := range []struct {
		name, sw string
		words    []string // in the first finding; nil: no finding
	}{
		{"fits", "{buffer: {size: 344KB, private_per_queue: 3KB}, " + flow + "}", nil},
		{"full", "{buffer: {size: 309KB, private_per_queue: 3KB}, " + flow + "}",
			[]string{"leaf0 and leaf1: the buffer is overcommitted: headroom (300000 B) and private segments (9000 B) of 3 ports need 309000 of 309000 B, at least 1 B too much",
				"use a buffer of more than 309000 B, or headroom: exact, which needs 159624 B"}},
		{"little", "{buffer: {size: 310KB, private_per_queue: 3KB}, " + flow + "}",
			[]string{"leave only 1000 of 310000 B (0.3 %) to share", "use a larger buffer; `xoff headroom`"}},
		{"chip", "{ports: 8, buffer: {size: 824KB, private_per_queue: 3KB}, " + flow + "}",
			[]string{"of 8 ports need 824000 of 824000 B, at least 1 B too much", "reserve_for: cabled"}},
	} {
		f := findings(runCheck(t, small+"switch: "+c.sw+"\n", Options{}), KindBuffer)
		if c.words == nil {
			if len(f) != 0 {
				t.Errorf("%s: %+v", c.name, f)
			}
			continue
		}
		if len(f) == 0 {
			t.Errorf("%s: nothing found", c.name)
			continue
		}
		for _, words := range c.words {
			if !strings.Contains(f[0].What+f[0].Fix, words) {
				t.Errorf("%s: no %q in %s; %s", c.name, words, f[0].What, f[0].Fix)
			}
		}
	}
	// With two classes of 100,000 B the leaf needs 600,000 B; one class fits into 400,000 B.
	f := findings(runCheck(t, strings.Replace(small, "[3]", "[3, 4]", 1)+"switch: {buffer: {size: 400KB}, "+flow+"}\n", Options{}), KindBuffer)
	if len(f) == 0 || !strings.Contains(f[0].Fix, "or at most 1 lossless class") {
		t.Errorf("%+v", f)
	}
}

const flowsOf = `
workload:
  - {name: a, generator: flows, class: rdma, flows: [{from: host0, to: host3, size: 1KB, start: 0s}]}
`

func TestClasses(t *testing.T) {
	const none = `switch: {overrides: [{match: "leaf1", flow_control: {name: none}}]}` + "\n"
	for _, c := range []struct {
		name, text string
		level      Level
		words      string
		where      []string
	}{
		{"a lossy hop", small + flowsOf + none, Problem,
			"class 3: lossless at hosts, but not in the fabric: flow control none at leaf1.port0 to host2, leaf1.port1 to host3 and leaf1.port2 to spine0 drops",
			[]string{"leaf1.port0", "leaf1.port1", "leaf1.port2"}},
		{"half a cable", small + flowsOf + none, Problem, "1 cable is lossless in one direction only: leaf1.to-spine0 drops", []string{"leaf1.to-spine0"}},
		{"nobody pauses", small + flowsOf + "switch: {flow_control: {name: none}}\n", Problem, "flow control none on every port", nil},
		{"IRN recovers", small + flowsOf + none + "hosts: {reliability: {name: irn}}\n", Note, "and transports recover from the drops", nil},
		{"unused class", strings.Replace(small, "[3]", "[3, 5, 6]", 1) + flowsOf + "switch: {flow_control: {name: pfc, headroom: 200KB}}\n", Note,
			"classes 5, 6: lossless, but no workload uses them; the headroom takes 1200000 B at leaf0", nil}, // 2 x 3 x 200,000
		{"ACKs", small + flowsOf + "hosts: {ack: {class: rdma}}\n", Note, "ACKs travel in lossless class 3", nil},
		{"go-back-n", small + "  tcp: {ids: [5], kind: lossy}\n" + strings.Replace(flowsOf, "rdma", "tcp", 1), Note, "workload a: go-back-n in lossy class 5", nil},
		{"no marks of one switch", small + flowsOf + `switch: {overrides: [{match: leaf1, ecn: {name: none}}]}` + "\nhosts: {cc: {name: dcqcn}}\n", Note, "workload a: dcqcn needs congestion marks, but 3 ports mark no frames of class 3", nil},
		{"MTU", small + flowsOf + `switch: {overrides: [{match: "spine0", mtu: 9000B}]}` + "\n", Note, "the MTU differs between the ends of 2 cables: leaf0.to-spine0 and leaf1.to-spine0", nil},
	} {
		found := false
		for _, f := range runCheck(t, c.text, Options{}).Findings {
			if strings.Contains(f.What, c.words) {
				found = true
				if f.Level != c.level || c.where != nil && !reflect.DeepEqual(f.Where, c.where) || f.Fix == "" {
					t.Errorf("%s: %+v", c.name, f)
				}
			}
		}
		if !found {
			t.Errorf("%s: no %q in %+v", c.name, c.words, runCheck(t, c.text, Options{}).Findings)
		}
	}
	if r := runCheck(t, small+flowsOf, Options{}); len(r.Findings) != 0 {
		t.Errorf("a sound fabric: %+v", r.Findings)
	}
}

// Fig. 16 of the DSH paper: with the routes of the example, with shortest paths, and with only
// the flows of the example.
func TestFig16OfExample(t *testing.T) {
	e, err := examples.Get("dsh-fig16")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(e.Text, "arrivals: 100ms", "arrivals: 10ms", 1)
	cycle := func(r *Report) []string {
		var rings []string
		for _, f := range findings(r, KindCycles) {
			if f.Level != Problem || !reflect.DeepEqual(f.Classes, []int{1, 2, 3, 4, 5, 6, 7}) {
				t.Errorf("%+v", f)
			}
			for _, c := range f.Cycles {
				rings = append(rings, ring(c, "spine0"))
			}
		}
		return rings
	}
	const loop = "spine0 leaf1 spine1 leaf2"
	if got, want := cycle(runCheck(t, text, Options{Failures: 1})), []string{loop}; !reflect.DeepEqual(got, want) {
		t.Errorf("pinned routes: %v, want %v", got, want)
	}
	if got, want := cycle(runCheck(t, text, Options{Flows: true})), []string{loop}; !reflect.DeepEqual(got, want) {
		t.Errorf("flows only: %v, want %v", got, want)
	}
	from, to := strings.Index(text, "  pinned:"), strings.Index(text, "hosts:\n")
	plain := text[:from] + text[to:]
	if got := cycle(runCheck(t, plain, Options{})); len(got) != 2 || got[0] != loop && got[1] != loop {
		t.Errorf("shortest paths: %v", got)
	}
	healthy := strings.Replace(plain, "down: [leaf3-spine0, leaf0-spine1]", "", 1)
	r := runCheck(t, healthy, Options{Failures: 1})
	if r.Problems != 0 || r.Failures.Sets != 8 {
		t.Errorf("healthy: %+v", r.Findings)
	}
	// The same failures as faults of a run.
	r = runCheck(t, healthy+"\nfaults: [{at: 1ms, link: leaf3-spine0, down_for: 9ms}, {at: 5ms, link: leaf0-spine1, down_for: 1ms}]\n", Options{})
	f := findings(r, KindCycles)
	if len(f) != 1 || !strings.Contains(f[0].What, "during the faults that start at 5ms") || !reflect.DeepEqual(f[0].Links, []string{"leaf0-spine1", "leaf3-spine0"}) {
		t.Errorf("faults: %+v", f)
	}
	// Two failures at once.
	r = runCheck(t, healthy, Options{Failures: 2})
	f = findings(r, KindFailures)
	if len(f) != 1 || len(f[0].Failures) != 12 || r.Failures.Cyclic != 12 || r.Problems != 1 {
		t.Errorf("two failures: %+v", f)
	}
}

// Classes with different flows are checked separately: in a ring of four, flows between
// opposite switches form loops in class 1, but not in class 2.
func TestFlowsByClass(t *testing.T) {
	text := `
name: ring
topology: {name: ring, switches: 4, hosts_per_switch: 1}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [1, 2], kind: lossless}
workload:
  - name: a
    generator: flows
    flows:
`
	for _, f := range []string{"0 2 1", "1 3 1", "2 0 1", "3 1 1", "0 2 2", "1 0 2"} {
		w := strings.Fields(f)
		text += "      - {from: host" + w[0] + ", to: host" + w[1] + ", class: " + w[2] + ", size: 1KB, start: 0s}\n"
	}
	f := findings(runCheck(t, text, Options{Flows: true}), KindCycles)
	if len(f) != 1 || !reflect.DeepEqual(f[0].Classes, []int{1}) || len(f[0].Cycles) != 2 {
		t.Errorf("%+v", f)
	}
	f = findings(runCheck(t, text, Options{}), KindCycles)
	if len(f) != 1 || !reflect.DeepEqual(f[0].Classes, []int{1, 2}) {
		t.Errorf("all hosts: %+v", f)
	}
}

// The fix suggests a deadlock handler that all switches of the loop have in common.
func TestHandlersOfALoop(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "or let a deadlock handler break loops (switch.deadlock)"},
		{"switch: {deadlock: {name: itsy}}\n", "or rely on the deadlock handler itsy"},
		{"switch: {deadlock: {name: itsy}, overrides: [{match: switch2, deadlock: {name: none}}]}\n",
			"or use the same deadlock handler on all switches of a loop, because they break it together (switch.deadlock: itsy at switch0, switch1 and switch3; none at switch2)"},
	} {
		f := findings(runCheck(t, "name: ring\ntopology: {name: ring, switches: 4, hosts_per_switch: 1}\n"+c.text, Options{}), KindCycles)
		if len(f) != 1 || !strings.HasSuffix(f[0].Fix, c.want) {
			t.Errorf("%s: %+v", c.text, f)
		}
	}
}

// Only the examples that are known to deadlock have cycles. The largest one takes seconds, so
// TestDeepCheckExamples checks it.
func TestExamples(t *testing.T) { testExamples(t, false) }

func testExamples(t *testing.T, large bool) {
	t.Helper()
	cyclic := map[string]bool{"deadlock": true, "dsh-fig16": true, "dsh-ring": true, "live-ring": true, "lossless": true, "roundabout-mesh": true, "roundabout-ring": true, "roundabout-torus": true}
	for _, e := range examples.All() {
		if (e.Name == "rail-1024") != large {
			continue
		}
		e, err := examples.Get(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		r := runCheck(t, e.Text, Options{Failures: 1})
		if got := len(findings(r, KindCycles)) > 0; got != cyclic[e.Name] || (r.Problems > 0) != cyclic[e.Name] {
			t.Errorf("%s: cycles %v, want %v; %+v", e.Name, got, cyclic[e.Name], r.Findings)
		}
	}
}

// The suggested fix works: afterwards no headroom is too small. PHI* is 28,208 B at hosts, and
// 3840 B more with a processing time of 307.2 ns.
func TestAdviceHelps(t *testing.T) {
	const slow = "\n  pfc: {processing: 307.2ns}" // 3840 B at 100 Gbps
	uniform := strings.Replace(small, "400Gbps", "100Gbps", 1)
	for _, c := range []struct{ name, flow, extra, want, then string }{
		{"static", "{name: pfc, headroom: 20KB}", "", "headroom: exact (or 28208B), for these ports only", "{name: pfc, headroom: exact}"},
		{"oversubscribed", "{name: oversubscribed}", "", "headroom: exact (or 28208B), ratio: 1, for these ports only", "{name: oversubscribed, headroom: exact, ratio: 1}"},
		{"no insurance", "{name: dsh, insurance: 0}", "", "headroom: exact (or 28208B), insurance: phi, for these ports only", "{name: dsh, headroom: exact, insurance: phi}"},
		{"eq. 1 instead of a measurement", "{name: adaptive, rule: eq1}", slow, "headroom: exact (or 32048B), rule: exact, for these ports only", "{name: adaptive, headroom: exact, rule: exact}"},
		{"ports that differ", "{name: pfc}", "\n  overrides: [{match: leaf0.port2, flow_control: {headroom: 20KB}}, {match: leaf1.port0, flow_control: {headroom: 20KB}}]",
			"flow_control: {headroom: exact}}]; leaf0 then has", "{name: pfc}"},
		{"ports that no pattern names", "{name: pfc}", "\n  overrides: [{match: \"leaf0.port[01]\", flow_control: {headroom: 20KB}}]",
			"headroom: exact (or 28208B) in switch.flow_control, and in switch.overrides that set it; leaf0 then has", "{name: pfc}"},
	} {
		got := findings(runCheck(t, uniform+"switch:\n  flow_control: "+c.flow+c.extra+"\n", Options{}), KindHeadroom)
		if len(got) == 0 || !strings.Contains(got[0].Fix, c.want) {
			t.Errorf("%s: %+v; want %s", c.name, got, c.want)
		}
		if strings.HasPrefix(c.extra, "\n  over") {
			continue
		}
		if then := findings(runCheck(t, uniform+"switch:\n  flow_control: "+c.then+c.extra+"\n", Options{}), KindHeadroom); len(then) != 0 {
			t.Errorf("%s: the fix does not help: %+v", c.name, then)
		}
	}
}

// The fix for DSH reserves PHI once per port, whatever the insurance is now: 3 x 28,208 B are
// 84,624 B of 16 MiB.
func TestAdviceForInsurance(t *testing.T) {
	uniform := strings.Replace(small, "400Gbps", "100Gbps", 1)
	with := func(insurance string) *Report {
		return runCheck(t, uniform+"switch:\n  buffer: {reserve_for: cabled}\n  flow_control: {name: dsh, insurance: "+insurance+"}\n", Options{})
	}
	for _, c := range []struct {
		insurance string
		kind      Kind
		want      string
	}{
		{"0", KindHeadroom, "leaf0 then has 16692592 B left to share"}, // 16,777,216 - 84,624
		{"100B", KindHeadroom, "leaf0 then has 16692592 B left to share"},
		{"0", KindClasses, "headroom: exact, insurance: phi, or flow_control: {name: pfc} on every port"},
		{"8MiB", KindBuffer, "use a buffer of more than 25165824 B, or headroom: exact, insurance: phi, which needs 84624 B"},
	} {
		got := findings(with(c.insurance), c.kind)
		if len(got) == 0 || !strings.Contains(got[0].Fix, c.want) {
			t.Errorf("insurance %s: %+v; want %s", c.insurance, got, c.want)
		}
	}
	if got := with("phi"); got.Problems != 0 {
		t.Errorf("the fix does not help: %+v", got.Findings)
	}
}

func TestDot(t *testing.T) {
	r := runCheck(t, small, Options{})
	var b strings.Builder
	if err := r.WriteDot(&b); err != nil {
		t.Fatal(err)
	}
	want := `digraph dependencies {
  label="small: buffer dependencies of class 3";
  node [shape=box, fontname="sans-serif"];
  "leaf0 > spine0" -> "spine0 > leaf1";
  "leaf1 > spine0" -> "spine0 > leaf0";
}
`
	if b.String() != want {
		t.Errorf("got\n%s", &b)
	}
	e, _ := examples.Get("dsh-fig16")
	b.Reset()
	if err := runCheck(t, e.Text, Options{}).WriteDot(&b); err != nil || strings.Count(b.String(), "color=red") != 8 { // 4 channels, 4 turns
		t.Errorf("%v\n%s", err, &b)
	}
	// It draws class 5, not class 3, which has no flows.
	b.Reset()
	unused := small + "  more:    {ids: [5], kind: lossless}\nworkload: [{name: a, generator: flows, class: more, flows: [{from: host0, to: host3, size: 1KB, start: 0s}]}]\n"
	if err := runCheck(t, unused, Options{Flows: true}).WriteDot(&b); err != nil || !strings.Contains(b.String(), "of class 5") || !strings.Contains(b.String(), "leaf0 > spine0") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := runCheck(t, strings.Replace(small, "lossless", "lossy", 1), Options{Failures: 1}).WriteDot(&b); err != nil || !strings.Contains(b.String(), "no lossless class") {
		t.Errorf("%v\n%s", err, &b)
	}
}

func TestNames(t *testing.T) {
	for want, mask := range map[string]packet.ClassMask{"class 3": 0b1000, "classes 1-7": 0b11111110, "classes 1, 2, 5": 0b100110, "classes 0, 2-4": 0b11101} {
		if got := classes(mask); got != want {
			t.Errorf("%#b: %q, want %q", mask, got, want)
		}
	}
}
