package engine

import (
	"fmt"
	"net/netip"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Addresses are where ports listen, by end of a cable. All processes of a run have the same.
type Addresses map[sim.End]netip.AddrPort

// FirstPort is the UDP port of the first end of a cable where nobody says otherwise.
const FirstPort = 21000

// Generated gives every end of a cable a port of the loopback interface, the same in every
// process.
func Generated(spec *sim.Spec, first int) (Addresses, error) {
	if last := first + 2*len(spec.Cables) - 1; first < 1 || last > 65535 {
		return nil, fmt.Errorf("the ends of %d cables would have the ports %d to %d; allowed: 1 to 65535", len(spec.Cables), first, last)
	}
	where := make(Addresses)
	for i := range spec.Cables {
		for k, e := range []sim.End{spec.Cables[i].A, spec.Cables[i].B} {
			where[e] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(first+2*i+k))
		}
	}
	return where, nil
}

// ReadAddresses reads a file of addresses: ports by neighbour or number, as in
// leaf0.to-host3: 127.0.0.1:5003.
func ReadAddresses(name string, data []byte, g *topo.Graph) (Addresses, error) {
	src := yaml.NewSource(name, data)
	body, err := yaml.Parse(src, data, "address for each port")
	if err != nil {
		return nil, err
	}
	d := &yaml.Decoder{Places: yaml.NewPlaces(src), What: "addresses"}
	entries, err := d.Entries(body, "")
	if err != nil {
		return nil, err
	}
	where, taken := make(Addresses), make(map[netip.AddrPort]string)
	for _, e := range entries {
		end, err := PortOf(g, e.Key)
		if err != nil {
			return nil, d.Fail(e.At, "", "%v", err)
		}
		if e.Value.Shape != yaml.Word {
			return nil, d.Mismatch(e.Value, e.Key, "ADDRESS:PORT")
		}
		at, err := netip.ParseAddrPort(e.Value.Text)
		if err != nil || at.Port() == 0 {
			return nil, d.Fail(e.Value.At, e.Key, "%q is no address; allowed: ADDRESS:PORT, such as 127.0.0.1:5003", e.Value.Text)
		}
		if other := taken[at]; other != "" {
			return nil, d.Fail(e.Value.At, e.Key, "%s is the address of %s, too; allowed: one for each port", at, other)
		}
		if _, twice := where[end]; twice {
			return nil, d.Fail(e.At, "", "%s has an address already, by another name; allowed: one", e.Key)
		}
		where[end], taken[at] = at, e.Key
	}
	return where, nil
}

// portsByName returns the ports that names mean.
func portsByName(g *topo.Graph) map[string][]sim.End {
	ports := make(map[string][]sim.End)
	for node, peers := range g.Peers() {
		for p, peer := range peers {
			if peer < 0 {
				continue
			}
			number, neighbour := g.PortNames(node, p, peer)
			for _, n := range []string{number, neighbour} {
				ports[n] = append(ports[n], sim.End{Node: node, Port: p})
			}
		}
	}
	return ports
}

// PortOf returns the port of a name, as in a file of addresses.
func PortOf(g *topo.Graph, name string) (sim.End, error) {
	switch ends := portsByName(g)[name]; len(ends) {
	case 1:
		return ends[0], nil
	case 0:
		return sim.End{}, fmt.Errorf("there is no port %q; allowed: NODE.to-NEIGHBOUR or NODE.portN of the scenario, such as %s", name, anyPort(g))
	default:
		return sim.End{}, fmt.Errorf("%q means %d ports; allowed: NODE.portN", name, len(ends))
	}
}

func anyPort(g *topo.Graph) string {
	l := g.Links[0]
	_, name := g.PortNames(l.B, l.PortB, l.A)
	return name
}

// Missing names a port that has no address although a node that is here needs it: its own,
// or that of a peer. Empty: there is none.
func (a Addresses) Missing(g *topo.Graph, here []bool) string {
	for _, l := range g.Links {
		for _, e := range [2][3]int{{l.A, l.PortA, l.B}, {l.B, l.PortB, l.A}} {
			if _, ok := a[sim.End{Node: e[0], Port: e[1]}]; !ok && (here == nil || here[e[0]] || here[e[2]]) {
				_, name := g.PortNames(e[0], e[1], e[2])
				return name
			}
		}
	}
	return ""
}
