package workload

import (
	"github.com/xoff-net/xoff/base/units"
)

// Fabric is what generators know about the hosts.
type Fabric struct {
	Names []string
	Rack  []int        // of each host
	Group []int        // of each host: its pod or data centre
	Rates []units.Rate // of each host's link
}

// Hosts returns the number of hosts.
func (f *Fabric) Hosts() int { return len(f.Rack) }

// All returns every host.
func (f *Fabric) All() []int32 {
	all := make([]int32, f.Hosts())
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// Capacity is the sum of the links of some hosts.
func (f *Fabric) Capacity(hosts []int32) units.Rate {
	sum := units.Rate(0)
	for _, h := range hosts {
		sum += f.Rates[h]
	}
	return sum
}
