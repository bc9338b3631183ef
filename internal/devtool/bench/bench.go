// Package bench measures the speed of the simulator on one fixed workload.
package bench

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Case is what is measured: a leaf-spine fabric at 100 Gbps under web search at
// 80 % of the host links.
type Case struct {
	Hosts     int
	LinkDelay units.Time
	WarmUp    units.Time
	Measured  units.Time
	Workers   int
	Seed      uint64
	// Names of schemes, with their default parameters; empty: the default.
	CC, Policy, FlowControl string
}

// Default is the case whose numbers are quoted.
func Default() Case {
	return Case{
		Hosts: 256, LinkDelay: units.Microsecond, WarmUp: 2 * units.Millisecond, Measured: 5 * units.Millisecond, Workers: 1, Seed: 1,
	}
}

// hostsPerLeaf and spines of the measured fabric.
const (
	hostsPerLeaf = 16
	spines       = 16
)

// yardstick gives the switches the parameters of the program that speed is held
// against (four lossless classes, 3 MiB to share and headroom beside it, alpha
// 1/32, marks from 40 to 160 KB), so that both simulate queues of similar depth.
func yardstick(cfg *scenario.Config) {
	cfg.Classes["rdma"] = scenario.Class{IDs: []int{1, 2, 3, 4}, Kind: "lossless"}
	fabric := cfg.Topology.Params.(*topo.LeafSpineParams)
	cable := &fabric.HostLink
	headroom := link.Exact(&link.Port{Rate: cable.Rate, DelayIn: cable.Delay, DelayOut: cable.Delay,
		MTU: cfg.Hosts.Payload + cfg.Hosts.Header})
	ports := max(hostsPerLeaf+spines, fabric.Leaves)
	cfg.Switch.Buffer.Size = 3*units.MiB + units.Bytes(4*ports)*headroom
	cfg.Switch.Policy.Params = &buffer.DTParams{Alpha: units.Ratio{Num: 1, Den: 32}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}
	cfg.Switch.FlowControl.Params = &flowctl.SIHParams{Delta: 2 * units.KB}
	cfg.Switch.Scheduler.Params = &sched.DWRRParams{Quantum: 2 * units.KB}
	cfg.Switch.ECN.Params = &mark.REDParams{KMin: 40 * units.KB, KMax: 160 * units.KB, PMax: 0.2}
}

// Scenario returns the scenario of a case.
func (c *Case) Scenario() (*scenario.Config, error) {
	if c.Measured <= 0 || c.WarmUp < 0 || c.LinkDelay <= 0 || c.Workers < 1 {
		return nil, fmt.Errorf("%s of warm-up, %s measured, links of %s, %d workers; allowed: something to measure, links longer than 0, at least one worker", c.WarmUp, c.Measured, c.LinkDelay, c.Workers)
	}
	if c.Hosts <= 0 || c.Hosts%hostsPerLeaf != 0 {
		return nil, fmt.Errorf("%d hosts; allowed: a multiple of %d", c.Hosts, hostsPerLeaf)
	}
	cfg := scenario.Default()
	cfg.Name = "bench"
	link := topo.Cable{Rate: 100 * units.Gbps, Delay: c.LinkDelay}
	cfg.Topology = scenario.Fabric("leaf-spine",
		&topo.LeafSpineParams{Leaves: c.Hosts / hostsPerLeaf, Spines: spines, HostsPerLeaf: hostsPerLeaf, HostLink: link, FabricLink: link})
	cfg.Workload = []scenario.Workload{{
		Name: "websearch", Generator: "poisson", Params: &workload.Poisson{Sizes: "websearch", AtOnce: 1},
		Load: scenario.Load{Share: 0.8, Of: "host_links"}, Pairs: "any",
		Class: scenario.ClassChoice{Random: "rdma"},
	}}
	yardstick(cfg)
	cfg.Seed = c.Seed
	for _, set := range []struct {
		kind, name string
		to         *scenario.Choice
	}{{"policy", c.Policy, &cfg.Switch.Policy}, {"flow_control", c.FlowControl, &cfg.Switch.FlowControl}, {"cc", c.CC, &cfg.Hosts.CC}} {
		if set.name == "" {
			continue
		}
		choice, err := scenario.Choose(set.kind, set.name)
		if err != nil {
			return nil, err
		}
		*set.to = choice
	}
	cfg.Run.Arrivals = c.WarmUp + c.Measured
	cfg.Run.Stop = scenario.Stop{When: "time", AtMost: c.WarmUp + c.Measured}
	return cfg, nil
}
