package fabric

import (
	"errors"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
)

func TestShorthands(t *testing.T) {
	c := parse(t, "name: a\nhosts: {cc: {name: dcqcn, preset: paper, g: 0.5}}\n",
		"--topology leaf-spine:leaves=2,host_link.rate=25Gbps,fabric_link={rate: 50Gbps, delay: 3us}", "--cc dcqcn:rai=7Mbps,preset=paper", "--flow-control pfc:headroom=eq1", "--policy static:limit=9KB",
		"--deadlock none", "hosts.cc.rhai=9Mbps")
	p := c.Hosts.CC.Params.(*cc.DCQCNParams)
	if p.Preset != "paper" || p.AI != 7*units.Mbps || p.HAI != 9*units.Mbps || p.G != 1.0/256 {
		t.Errorf("dcqcn is %+v", p)
	}
	if tree := c.Topology.Params.(*topo.LeafSpineParams); tree.Leaves != 2 || tree.HostLink.Rate != 25*units.Gbps || tree.HostLink.Delay != units.Microsecond || tree.FabricLink.Delay != 3*units.Microsecond {
		t.Errorf("topology is %+v", tree)
	}
	if fc := c.Switch.FlowControl.Params.(*flowctl.SIHParams); fc.Headroom.Rule != link.RuleEq1 || c.Switch.Policy.Name != "static" {
		t.Errorf("flow control is %+v", fc)
	}
	for set, want := range map[string]string{
		"--cc dcqn":                     `--cc dcqn: hosts.cc.name: unknown cc "dcqn"; did you mean "dcqcn"? (allowed: cubic, dcqcn, dctcp, fixed, hpcc, newreno, none, powertcp, theta-powertcp, timely)`,
		"--cc dcqcn:raj=3":              `--cc dcqcn:raj=3: hosts.cc: unknown key "raj"; did you mean "rai"? (allowed: name, preset, g, alpha_interval, cut_interval, rise_interval, rise_bytes, fast_recovery, rai, rhai, min_rate, clamp_target, window, rise_first, first_cut_delay, alpha_delay, truncate)`,
		"--cc dcqcn:rai":                `--cc dcqcn:rai: hosts.cc: "rai" is not a parameter (expected PARAMETER=VALUE,...)`,
		"--cc dcqcn:rai=3us":            `--cc dcqcn:rai=3us: hosts.cc.rai: "us" is not a unit of rate (allowed: bps, Kbps, Mbps, Gbps, Tbps)`,
		"--cc ":                         `--cc : hosts.cc.name: "" is not a name (expected NAME, or NAME:PARAMETER=VALUE,...)`,
		"--cc {a":                       `--cc {a: hosts.cc.name: "{a" is not a name (expected NAME, or NAME:PARAMETER=VALUE,...)`,
		"--policy dt:limit=3KB":         `--policy dt:limit=3KB: switch.policy: unknown key "limit" (allowed: name, alpha, alpha_lossy)`,
		"--topology leaf-spine:spines=": `--topology leaf-spine:spines=: bad value: "" (expected YAML)`,
		"--nothing x":                   `--nothing x: "--nothing x" is not a setting (expected path=value, such as switch.policy.alpha=1/8)`,
	} {
		_, err := Parse("a.yaml", []byte("name: a\n"), set)
		var in *scenario.InputError
		if !errors.As(err, &in) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// --set can select list items by name.
func TestSetByName(t *testing.T) {
	const file = `
workload:
  - {name: a, generator: poisson, sizes: 10KB, load: {share: 0.1, of: host_links}}
  - {name: background, generator: poisson, sizes: 10KB, load: {share: 0.1, of: host_links}}
`
	c := parse(t, file, "workload.background.load.share=0.5", "workload.a.load={share: 0.2, of: host_links}", "classes.rdma={ids: [4], kind: lossless}", "switch.scheduler.quanta={4: 3KB}")
	if c.Workload[1].Load.Share != 0.5 || c.Workload[0].Load.Share != 0.2 || c.Workload[0].Load.Of != "host_links" || c.Switch.Scheduler.Params.(*sched.DWRRParams).Quanta[4] != 3*units.KB {
		t.Errorf("got %+v", c.Workload)
	}
	for set, want := range map[string]string{
		"workload.backgrnd.load.share=1": `--set workload.backgrnd.load.share=1: workload: unknown item "backgrnd"; did you mean "background"? (allowed: a, background, workload[0])`,
		"faults.x.at=1us":                `--set faults.x.at=1us: faults: there is no item called "x" (expected an index, as in faults[0])`,
		"switch.scheduler.strict.a=b":    `--set switch.scheduler.strict.a=b: switch.scheduler.strict: there is no item called "a" (expected an index, as in switch.scheduler.strict[0])`,
	} {
		if _, err := Parse("a.yaml", []byte(file), set); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
