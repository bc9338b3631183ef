package layout

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/job"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// usualScaleUpLatency is the latency of a scale-up network that gives none.
const usualScaleUpLatency = 500 * units.Nanosecond

// maxGPUs limits the number of GPUs: ranks of GOAL files have 20 bits.
const maxGPUs = 1 << 20

// NICsPerServer returns the number of NICs of a server.
func (l *Layout) NICsPerServer() int {
	if n := l.Config.Nodes.NICs; n != 0 {
		return n
	}
	return max(1, l.Graph.PerServer)
}

// servers returns the GPUs of the fabric, server by server, and their scale-up network.
func (l *Layout) servers() ([]workload.GPU, job.ScaleUp, error) {
	n := l.Config.Nodes
	n.NICs = l.NICsPerServer()
	if n.GPUs == 0 {
		n.GPUs = n.NICs
	}
	up := n.ScaleUp
	if up.Latency == 0 {
		up.Latency = usualScaleUpLatency
	}
	if up.Servers == 0 {
		up.Servers = 1
	}
	servers := l.Graph.Hosts / max(1, n.NICs)
	var none job.ScaleUp
	err := yaml.First(
		yaml.Within("nodes.nics", n.NICs, 1, l.Graph.Hosts), yaml.Within("nodes.gpus", n.GPUs, 1, maxGPUs),
		yaml.When(up.Rate != 0, yaml.Within("nodes.scale_up.rate", up.Rate, topo.MinRate, 100*topo.MaxRate)),
		yaml.Within("nodes.scale_up.latency", up.Latency, 1, topo.MaxDelay),
		yaml.Within("nodes.scale_up.servers", up.Servers, 1, l.Graph.Hosts),
	)
	switch {
	case err != nil:
		return nil, none, err
	case l.Graph.PerServer > 0 && n.NICs != l.Graph.PerServer:
		return nil, none, yaml.Atf("nodes.nics", "%d NICs per server, but the topology has %d (expected %d)", n.NICs, l.Graph.PerServer, l.Graph.PerServer)
	case l.Graph.Hosts%n.NICs != 0:
		return nil, none, yaml.Atf("nodes.nics", "%d hosts cannot be divided into servers of %d NICs (expected a divisor of the number of hosts)", l.Graph.Hosts, n.NICs)
	case n.GPUs%n.NICs != 0:
		return nil, none, yaml.Atf("nodes.gpus", "%d GPUs cannot share %d NICs equally (expected a multiple of nics)", n.GPUs, n.NICs)
	case servers*n.GPUs > maxGPUs:
		return nil, none, yaml.Atf("nodes.gpus", "%d servers with %d GPUs (expected at most %d GPUs in all)", servers, n.GPUs, maxGPUs)
	case n.GPUs > n.NICs && up.Rate == 0:
		return nil, none, yaml.Atf("nodes.scale_up", "GPUs that share a NIC have no network between them (expected a scale_up network, such as {rate: 3.6Tbps})")
	case up.Rate == 0 && n.ScaleUp.Latency+units.Time(n.ScaleUp.Servers) != 0:
		return nil, none, yaml.Atf("nodes.scale_up", "a scale-up network without a rate (expected a rate, such as 3.6Tbps)")
	}
	list := make([]workload.GPU, 0, servers*n.GPUs)
	for s := range servers {
		domain := int32(-1)
		if up.Rate != 0 {
			domain = int32(s / up.Servers)
		}
		for g := range n.GPUs {
			list = append(list, workload.GPU{Host: int32(s*n.NICs + g/(n.GPUs/n.NICs)), Server: int32(s), Domain: domain})
		}
	}
	return list, job.ScaleUp{Rate: up.Rate, Latency: up.Latency}, nil
}
