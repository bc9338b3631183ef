package topo_test

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/topo"
)

// Two leaves with two hosts each and one spine have four host links and two links between
// switches.
func ExampleLeafSpine() {
	cable := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	g := topo.LeafSpine(2, 1, 2, cable, cable)
	fmt.Println(g.Hosts, g.Nodes(), len(g.Links))
	fmt.Println(g.Names)
	fmt.Println(g.LinkName(4))
	// Output:
	// 4 7 6
	// [host0 host1 host2 host3 leaf0 leaf1 spine0]
	// leaf0-spine0
}
