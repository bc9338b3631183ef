package topo

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// TwoDCParams describes two data centres (Bifrost section VI). Each is a fat-tree, with
// switches dc0-edge0 .. and so on, and a DCI switch (dci0, dci1) connected to every core. A
// long-haul link connects the two. The first half of the hosts is the group dc0, the rest is
// dc1; pods are dc0-pod0 .. and so on. The last port of a DCI switch leads to the long-haul
// link or to its relay. relay0 and relay1 are between the DCI switches and the long-haul
// link, which is at their second port.
type TwoDCParams struct {
	K            int   `yaml:"k" doc:"ports per switch of the fat-trees; even"`
	HostsPerEdge int   `yaml:"hosts_per_edge,omitempty" doc:"hosts on each edge switch; 0: k/2"`
	HostLink     Cable `yaml:"host_link" doc:"links between hosts and their switch"`
	FabricLink   Cable `yaml:"fabric_link" doc:"links between switches"`
	DCILink      Cable `yaml:"dci_link" doc:"links between cores and the DCI switch"`
	LongLink     Cable `yaml:"long_link" doc:"link between the DCI switches, or between their relays"`
	RelayLink    Cable `yaml:"relay_link,omitempty" doc:"links between each DCI switch and its relay at the end of the long link; default: no relays"`
}

func twoDCDefaults() *TwoDCParams {
	return &TwoDCParams{
		K: 4, HostLink: usual, FabricLink: usual, DCILink: usual, LongLink: Cable{Rate: 400 * units.Gbps, Delay: 3 * units.Millisecond},
	}
}

func newTwoDC(params any) (*Graph, error) {
	p := params.(*TwoDCParams)
	tree := &FatTreeParams{K: p.K, HostsPerEdge: p.HostsPerEdge, HostLink: p.HostLink, FabricLink: p.FabricLink}
	err := first(tree.check(), p.DCILink.Check("dci_link"), p.LongLink.Check("long_link"))
	edge := 2 // nodes between the cores
	if p.RelayLink != (Cable{}) {
		edge = 4
		err = first(err, p.RelayLink.Check("relay_link"))
	}
	if err == nil {
		err = first(fits(2*tree.hosts(), 2*tree.switches()+edge, 2*tree.edges()), ports("a DCI switch", p.K*p.K/4+1))
	}
	if err != nil {
		return nil, err
	}
	n := tree.hosts()
	b := NewLayout(2 * n)
	var cores [2]int
	for dc := range 2 {
		b.Group(fmt.Sprintf("dc%d", dc), dc*n, n)
		cores[dc] = tree.grow(b, fmt.Sprintf("dc%d-", dc), dc*n, dc*p.K*p.K/2)
	}
	dci := b.Switches("dci", 2)
	for dc := range 2 {
		for c := range p.K * p.K / 4 {
			b.Join(cores[dc]+c, dci+dc, p.DCILink)
		}
	}
	ends := dci // first node at the long link
	if p.RelayLink != (Cable{}) {
		ends = b.Switches("relay", 2)
		for dc := range 2 {
			b.Join(dci+dc, ends+dc, p.RelayLink)
		}
	}
	b.Join(ends, ends+1, p.LongLink)
	return b.Done(), nil
}
