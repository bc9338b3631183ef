package workload

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/job"
)

// Fabric describes the hosts to generators.
type Fabric struct {
	Names []string
	Rack  []int        // by host
	Group []int        // by host: its pod or data centre
	Rates []units.Rate // by host: the rate of its link
	// GPUs are the ranks that jobs can use, by server. ScaleUp is the network of domains.
	GPUs    []GPU
	ScaleUp job.ScaleUp
}

// GPU is a processor of a server.
type GPU struct {
	Host   int32 // its NIC
	Server int32
	Domain int32 // scale-up domain; -1: none
}

// Hosts returns the number of hosts.
func (f *Fabric) Hosts() int { return len(f.Rack) }

// All returns all host numbers.
func (f *Fabric) All() []int32 {
	all := make([]int32, f.Hosts())
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// Capacity returns the sum of the link rates of some hosts.
func (f *Fabric) Capacity(hosts []int32) units.Rate {
	sum := units.Rate(0)
	for _, h := range hosts {
		sum += f.Rates[h]
	}
	return sum
}
