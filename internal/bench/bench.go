// Package bench measures the speed of the simulator on one fixed workload.
package bench

import (
	"fmt"

	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/units"
)

// Case is what is measured: a leaf-spine fabric at 100 Gbps under web search at
// 80 % of the host links.
type Case struct {
	Hosts     int
	LinkDelay units.Time
	WarmUp    units.Time
	Measured  units.Time
	Workers   int
}

// hostsPerLeaf and spines of the measured fabric.
const (
	hostsPerLeaf = 16
	spines       = 16
)

// Scenario returns the scenario of a case.
func (c *Case) Scenario() (*scenario.Config, error) {
	if c.Hosts <= 0 || c.Hosts%hostsPerLeaf != 0 {
		return nil, fmt.Errorf("%d hosts; allowed: a multiple of %d", c.Hosts, hostsPerLeaf)
	}
	cfg := scenario.Default()
	cfg.Name = "bench"
	link := scenario.Cable{Rate: 100 * units.Gbps, Delay: c.LinkDelay}
	cfg.Topology = scenario.Topology{Name: "leaf-spine", Leaves: c.Hosts / hostsPerLeaf, Spines: spines, HostsPerLeaf: hostsPerLeaf, HostLink: link, FabricLink: link}
	cfg.Workload = []scenario.Workload{{
		Name: "websearch", Generator: "poisson", Sizes: "websearch", Load: scenario.Load{Share: 0.8, Of: "host_links"}, Pairs: "any",
		Class: scenario.ClassChoice{Random: "rdma"},
	}}
	cfg.Run.Arrivals = c.WarmUp + c.Measured
	cfg.Run.Stop = scenario.Stop{When: "time", AtMost: c.WarmUp + c.Measured}
	return cfg, nil
}
