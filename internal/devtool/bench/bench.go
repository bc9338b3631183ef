// Package bench measures the speed of the simulator on a fixed workload, for `xoff bench`.
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

// Case is one benchmark: a leaf-spine fabric at 100 Gbps with web search traffic that loads
// the host links to 80 %.
type Case struct {
	Hosts     int
	LinkDelay units.Time
	WarmUp    units.Time // simulated time before the measurement
	Measured  units.Time // simulated time that is measured
	Workers   int
	Seed      uint64
	// Names of schemes, used with their default parameters; "" is the default scheme.
	CC, Policy, FlowControl string
}

// Default returns the case whose results the documentation quotes.
func Default() Case {
	return Case{
		Hosts: 256, LinkDelay: units.Microsecond, WarmUp: 2 * units.Millisecond, Measured: 5 * units.Millisecond, Workers: 1, Seed: 1,
	}
}

// Dimensions of the measured fabric.
const (
	hostsPerLeaf = 16
	spines       = 16
)

// useReferenceSwitch gives the switches the parameters of the reference program that speed
// is compared with, so that both simulate queues of similar depth: four lossless classes,
// a shared segment of 3 MiB plus headroom, alpha 1/32, and ECN from 40 to 160 KB.
func useReferenceSwitch(cfg *scenario.Config) {
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

// Scenario returns the scenario of the case, or an error if a field is out of range.
func (c *Case) Scenario() (*scenario.Config, error) {
	if c.Measured <= 0 || c.WarmUp < 0 || c.LinkDelay <= 0 || c.Workers < 1 {
		return nil, fmt.Errorf("bad case: warm-up %s, measured %s, link delay %s, %d workers (expected more than 0 of each; warm-up may be 0)", c.WarmUp, c.Measured, c.LinkDelay, c.Workers)
	}
	if c.Hosts <= 0 || c.Hosts%hostsPerLeaf != 0 {
		return nil, fmt.Errorf("hosts is %d (expected a multiple of %d)", c.Hosts, hostsPerLeaf)
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
	useReferenceSwitch(cfg)
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
