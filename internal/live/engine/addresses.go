package engine

import (
	"fmt"
	"net/netip"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Addresses are the UDP addresses of ports. All processes of a run have the same.
type Addresses map[sim.End]netip.AddrPort

// FirstPort is the default UDP port of the first port.
const FirstPort = 21000

// Generated returns consecutive ports of the loopback interface, the same in every process.
func Generated(spec *sim.Spec, first int) (Addresses, error) {
	if last := first + 2*len(spec.Cables) - 1; first < 1 || last > 65535 {
		return nil, fmt.Errorf("the ends of %d cables need ports %d to %d (expected 1 to 65535)", len(spec.Cables), first, last)
	}
	where := make(Addresses)
	for i := range spec.Cables {
		for k, e := range []sim.End{spec.Cables[i].A, spec.Cables[i].B} {
			where[e] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(first+2*i+k))
		}
	}
	return where, nil
}

// ReadAddresses parses a file of addresses by port, such as leaf0.to-host3: 127.0.0.1:5003.
func ReadAddresses(name string, data []byte, g *topo.Graph) (Addresses, error) {
	src := yaml.NewSource(name, data)
	body, err := yaml.Parse(src, data, "address for each port")
	if err != nil {
		return nil, err
	}
	d := &yaml.Decoder{Locations: yaml.NewLocations(src), What: "addresses"}
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
		if e.Value.Shape != yaml.Scalar {
			return nil, d.Mismatch(e.Value, e.Key, "ADDRESS:PORT")
		}
		at, err := netip.ParseAddrPort(e.Value.Text)
		if err != nil || at.Port() == 0 {
			return nil, d.Fail(e.Value.At, e.Key, "%q is not an address (expected ADDRESS:PORT, such as 127.0.0.1:5003)", e.Value.Text)
		}
		if other := taken[at]; other != "" {
			return nil, d.Fail(e.Value.At, e.Key, "%s is also the address of %s (expected a different address for each port)", at, other)
		}
		if _, twice := where[end]; twice {
			return nil, d.Fail(e.At, "", "%s already has an address under another name (expected one address per port)", e.Key)
		}
		where[end], taken[at] = at, e.Key
	}
	return where, nil
}

// portsByName maps both names of each port to the port. Names by neighbour may be ambiguous.
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

// PortOf returns the port with a name, as in a file of addresses.
func PortOf(g *topo.Graph, name string) (sim.End, error) {
	switch ends := portsByName(g)[name]; len(ends) {
	case 1:
		return ends[0], nil
	case 0:
		return sim.End{}, fmt.Errorf("there is no port %q (expected NODE.to-NEIGHBOUR or NODE.portN of the scenario, such as %s)", name, anyPort(g))
	default:
		return sim.End{}, fmt.Errorf("%q matches %d ports (expected NODE.portN)", name, len(ends))
	}
}

func anyPort(g *topo.Graph) string {
	l := g.Links[0]
	_, name := g.PortNames(l.B, l.PortB, l.A)
	return name
}

// Missing returns the name of a port of this process, or of a peer, that has no address, or "".
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
