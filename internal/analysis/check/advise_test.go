package check

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/mutant"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

const star = `
topology: {name: one-switch, hosts: 10, host_link: {rate: 100Gbps, delay: 1us}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
switch:
  buffer: {size: 2MiB}
hosts: {cc: {name: none}}
workload:
  - {name: incast, generator: incast, senders: 2, size: 64KB, from: [host7, host8], to: host9, at: 100us, class: rdma}
run: {arrivals: 1ms, stop: {when: all_flows_done, at_most: 40ms}}
`

const tree = `
topology: {name: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 400Gbps, delay: 5us}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
switch:
  buffer: {size: 4MiB}
hosts: {cc: {name: none}}
workload:
  - {name: incast, generator: incast, senders: 7, size: 1MB, to: host0, class: rdma}
run: {arrivals: 1ms, stop: {when: all_flows_done, at_most: 20ms}}
`

// hog and two hosts that send to another host, beside six that fill the buffer.
const hog = `workload=[{name: hog, generator: incast, senders: 6, size: 1MB, from: [host0, host1, host2, host3, host4, host5], to: host6, class: rdma}, ` +
	`{name: incast, generator: incast, senders: 2, size: 64KB, from: [host7, host8], to: host9, at: 100us, class: rdma}]`

// flapping is a host that pauses for 400 us out of 450, and hosts that send to another one.
const flapping = `workload=[{name: doomed, generator: incast, senders: 2, size: 40MB, from: [host4, host5], to: host0, class: rdma}, ` +
	`{name: incast, generator: incast, senders: 2, size: 5MB, from: [host6, host7], to: host1, class: rdma}]`

func flaps() string {
	var list []string
	for k := range 12 {
		at := 20*units.Microsecond + units.Time(k)*450*units.Microsecond
		list = append(list, "{host: host0, stuck: true, at: "+at.String()+", for: 400us}")
	}
	return "faults=[" + strings.Join(list, ", ") + "]"
}

// finish returns a measure: when the last flow to a host completes, or to any host.
func finish(to string) func(*fabric.Fabric, *sim.Fast) float64 {
	return func(f *fabric.Fabric, _ *sim.Fast) float64 {
		last := units.Time(0)
		for i := range f.Flows.Flow {
			switch {
			case to != "" && f.Graph.Names[f.Flows.Flow[i].Dst] != to:
			case !f.Flows.Done(i):
				return f.Config.Run.Stop.AtMost.Seconds()
			default:
				last = max(last, f.Flows.Send[i].Acked)
			}
		}
		return last.Seconds()
	}
}

// Following advice removes what a finding is about, and doing the opposite causes it, also
// starting from the advised scenario: each case simulates the scenario, the advised one, and one
// with the opposite setting.
func TestAdviceInRuns(t *testing.T) {
	pauses := func(_ *fabric.Fabric, s *sim.Fast) float64 { return float64(s.Totals().Pauses) }
	broken := func(_ *fabric.Fabric, s *sim.Fast) float64 { return float64(s.Totals().Broken) }
	handled := func(_ *fabric.Fabric, s *sim.Fast) float64 {
		sum := uint64(0)
		for _, n := range s.Totals().Drops {
			sum += n
		}
		return float64(sum)
	}
	for _, c := range []struct {
		name, text string
		set        []string // settings with the problem
		kind       Kind
		what       string   // in the description of the finding
		keys       []string // of the advice
		opposite   []string
		measure    func(*fabric.Fabric, *sim.Fast) float64
		factor     float64 // by which the problem is worse than the advised scenario
	}{
		{"headroom", star, []string{"switch.flow_control.headroom=5KB", hog}, KindHeadroom, "short", []string{"switch.flow_control.headroom"},
			[]string{"switch.flow_control.headroom=10KB"}, broken, 100},
		{"late marks", star, []string{"switch.policy.alpha=1/4", "switch.ecn={name: red, kmin: 1300KB, kmax: 1600KB, pmax: 0.2}", "hosts.cc.name=dctcp", "workload[0].size=5MB",
			"workload[0].from=all", "workload[0].senders=3"},
			KindECN, "PFC pauses first", []string{"switch.ecn.kmin", "switch.ecn.kmax"}, []string{"switch.ecn.kmax=2MB", "switch.ecn.kmin=1500KB"}, pauses, 100},
		{"early marks", star, []string{"switch.buffer.size=16MiB", "switch.policy.alpha=1", "topology.host_link.delay=10us", "switch.ecn={name: step, k: 4KB}", "hosts.cc.name=dctcp", "workload[0].size=10MB"},
			KindECN, "keeps a link busy", []string{"switch.ecn.k"}, []string{"switch.ecn.k=1KB"}, finish(""), 1.3},
		{"detection", tree, []string{"switch.deadlock={name: watchdog, polling: 10us, detection: 20us, restoration: 2ms}"}, KindWatchdog, "without a storm",
			[]string{"switch.deadlock.detection"}, []string{"switch.deadlock.detection=10us"}, handled, 100},
		{"restoration", tree, []string{"topology.fabric_link.delay=1us", "switch.buffer.size=1MiB", "switch.deadlock={name: watchdog, polling: 10us, detection: 220us, restoration: 20us}",
			flapping, flaps(), "run.stop.at_most=8ms"}, KindWatchdog, "restores a queue", []string{"switch.deadlock.restoration"}, []string{"switch.deadlock.restoration=10us"}, finish("host1"), 1.3},
		{"small alpha", star, []string{"switch.buffer.size=16MiB", "switch.policy.alpha=1/512", "topology.host_link.delay=20us", "workload[0].size=8MB"}, KindAlpha, "runs dry",
			[]string{"switch.policy.alpha"}, []string{"switch.policy.alpha=1/1024"}, finish(""), 1.2},
		{"large alpha", star, []string{"switch.policy.alpha=64", hog}, KindAlpha, "not congested", []string{"switch.policy.alpha"}, []string{"switch.policy.alpha=256"}, finish("host9"), 1.02},
		{"load", tree, []string{"topology.fabric_link={rate: 100Gbps, delay: 1us}", "hosts.cc.name=dcqcn",
			"workload=[{name: web, generator: poisson, sizes: 64KB, load: {share: 0.3, of: host_links}, pairs: other_rack, class: rdma}]"},
			KindLoad, "grow for as long", []string{"workload.web.load.share"}, []string{"workload.web.load.share=0.35"}, finish(""), 1.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := func(found bool, set []string) (float64, []Advice) {
				t.Helper()
				cfg, err := scenario.Parse("a.yaml", []byte(c.text), set...)
				if err != nil {
					t.Fatal(err)
				}
				survey, err := NewSurvey(cfg)
				if err != nil {
					t.Fatal(err)
				}
				r, err := Run(t.Context(), survey, Options{})
				if err != nil {
					t.Fatal(err)
				}
				list := slices.DeleteFunc(findings(r, c.kind), func(f Finding) bool { return !strings.Contains(f.What, c.what) })
				if (len(list) > 0) != found {
					t.Fatalf("%v: findings %+v", set, findings(r, c.kind))
				}
				var advice []Advice
				for _, f := range list {
					advice = f.Advice
				}
				built, fast := simulate(t, c.text, set...)
				return c.measure(built, fast), advice
			}
			before, advice := run(true, c.set)
			better := slices.Clone(c.set)
			var keys []string
			for i := len(advice) - 1; i >= 0; i-- { // kmax before kmin
				a := advice[i]
				keys = append([]string{a.Key}, keys...)
				better = append(better, a.Key+"="+a.Value)
				if a.Now == "" || a.Rule == "" || a.Source == "" {
					t.Errorf("%+v", a)
				}
			}
			if !slices.Equal(keys, c.keys) {
				t.Fatalf("advice is for %v, want %v", keys, c.keys)
			}
			after, _ := run(false, better)
			worse, _ := run(true, append(slices.Clone(better), c.opposite...))
			t.Logf("%s: %v, with advice %v, with the opposite %v", c.name, before, after, worse)
			least := max(after, 1e-9) * c.factor
			if c.factor >= 100 {
				least = max(after*10, c.factor)
			}
			if before < least || worse < least {
				t.Errorf("%v, with advice %v, with the opposite %v (expected a factor of %v)", before, after, worse, c.factor)
			}
		})
	}
}

// A patch has the values as keys of a scenario, with rules and sources; workloads are comments.
func TestWriteAdvice(t *testing.T) {
	var b bytes.Buffer
	err := WriteAdvice(&b, "mine.yaml", []Advice{
		{"switch.policy.alpha", "64", "8", "r", "s"}, {"switch.ecn.kmin", "1MB", "48.5KB", "r", "s"}, {"workload.web.load.share", "0.3", "0.2", "r", "s"}, {"switch.ecn.kmax", "1MB", "1/4", "r", "s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "#") || strings.Contains(line, "--set") {
			keys = append(keys, strings.TrimRight(line, "\n"))
		}
	}
	want := []string{"#   apply: --set workload.web.load.share=0.2", "switch:", "  policy:", "    alpha: 8", "  ecn:", "    kmin: 48.5KB", "    kmax: 1/4"}
	if !slices.Equal(keys, want) || !strings.Contains(b.String(), "# Advice for mine.yaml: 4 values.\n") || !strings.Contains(b.String(), "# switch.policy.alpha: 8, now 64.\n#   rule: r\n#   source: s\n") {
		t.Errorf("%q", b.String())
	}
}

// The load of links of a leaf-spine by hand: leaf0 has four hosts at 100 Gbps that send 0.1 each,
// 4/7 of it to the other leaf: 4 x 10 x 4/7 Gbps x 1048/1000 over two spines.
func TestOffered(t *testing.T) {
	text := strings.Replace(tree, "spines: 1", "spines: 2", 1)
	cfg, err := scenario.Parse("a.yaml", []byte(text), "workload=[{name: web, generator: poisson, sizes: 64KB, load: {share: 0.1, of: host_links}, pairs: any, class: rdma}]")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSurvey(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{Survey: s}
	o := c.newOffered()
	for _, x := range c.loads() {
		o.add(&x)
	}
	o.route()
	for i, l := range s.Graph.Links {
		want := 10e9 * 1.048
		if l.A >= s.Graph.Hosts {
			want *= 4 * 4.0 / 7 / 2
		}
		for _, got := range o.link[2*i : 2*i+2] {
			if got *= 8; got < want*0.9999 || got > want*1.0001 {
				t.Errorf("%s: %v bps, want %v", s.Graph.LinkName(i), got, want)
			}
		}
	}
}

// TestAdviceInRuns and TestOffered find each mistake in a rule.
func TestDeepAdviceMutants(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ function, right, wrong string }{
		{"checker.adviseMarks", "late.Alone/2", "late.Alone*3"},
		{"checker.alphas", "x/(shared-x)", "x/(shared-x)/32"},
		{"checker.alphas", "(shared/x-1)", "(shared/x*99-1)"},
		{"checker.legitimate", "units.Time(depth)", "units.Time(depth)/50"},
		{"offered.route", "/ float64(len(ports))", "* float64(len(ports))"},
	} {
		group.Add(m.function+" "+m.right, m.function, m.right, m.wrong, "-run=^(TestAdviceInRuns|TestOffered)", ".")
	}
	group.MustCatch(t)
}
