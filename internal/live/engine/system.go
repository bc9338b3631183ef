package engine

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/live/netns"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// System is what a run needs of the operating system: real hosts, and interfaces in place of
// cables. Opening sockets takes privileges, so a parent does that; see Child.
type System struct {
	Setup      bool     // make namespaces and interfaces; see Plan
	Packet     bool     // interfaces carry the frames between nodes
	Outside    []string // real hosts: HOST=INTERFACE or HOST
	Interfaces []string // of ports: PORT=INTERFACE
	Marks      []string // classes of real frames: dscpN=CLASS or pcpN=CLASS
	Prefix     string   // of the names of namespaces

	graph   *topo.Graph
	spec    *sim.Spec
	real    map[int]string     // hosts that are outside, with their interface, "" for elsewhere
	names   map[sim.End]string // ports with an interface
	rings   map[string]*Ring   // by key of a socket
	classes Classes
}

// Socket is a packet socket that a run needs.
type Socket struct {
	key   string
	Space string // namespace of its interface; empty: that of the process
	Name  string // of the interface
	MTU   int
}

// Resolve finds the hosts, ports and classes of a run by their names. Elsewhere says that
// other processes run nodes, too.
func (s *System) Resolve(g *topo.Graph, spec *sim.Spec, elsewhere bool) error {
	s.graph, s.spec = g, spec
	s.real, s.names = make(map[int]string), make(map[sim.End]string)
	taken := make(map[string]string) // interfaces, with what they are for
	take := func(line, what string) error {
		if other, twice := taken[line]; twice && line != "" {
			return fmt.Errorf("%s is the interface of %s and of %s; allowed: one for each", line, other, what)
		}
		taken[line] = what
		return nil
	}
	for _, arg := range s.Outside {
		name, line, named := strings.Cut(arg, "=")
		node := slices.Index(g.Names, name)
		if node < 0 || node >= len(spec.Hosts) {
			return fmt.Errorf("--outside: %w", registry.Unknown("host", name, g.Names[:len(spec.Hosts)]))
		}
		switch _, twice := s.real[node]; {
		case twice:
			return fmt.Errorf("--outside has %s twice; allowed: each host once", name)
		case named && (line == "" || s.Setup):
			return fmt.Errorf("--outside is %q; allowed: HOST=INTERFACE, or HOST with --setup, which makes its interface", arg)
		case !named && !s.Setup && !elsewhere:
			return fmt.Errorf("--outside is %q, and all nodes are here; allowed: HOST=INTERFACE, or HOST with --setup, or with --node for one that is elsewhere", arg)
		}
		s.real[node] = line
		if err := take(line, name); err != nil {
			return err
		}
	}
	for _, arg := range s.Interfaces {
		port, name, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("--map is %q; allowed with --wire packet: PORT=INTERFACE, such as leaf0.to-host3=veth3", arg)
		}
		end, err := PortOf(g, port)
		if err != nil {
			return fmt.Errorf("--map: %w", err)
		}
		if s.names[end] != "" || name == "" {
			return fmt.Errorf("--map is %q; allowed: one interface for each port", arg)
		}
		s.names[end] = name
		if err := take(name, port); err != nil {
			return err
		}
	}
	return s.classify(&spec.Hosts[0].Kinds)
}

// classify builds the map from real frames to classes.
func (s *System) classify(kinds *[mmu.Classes]mmu.Kind) error {
	first := func(k mmu.Kind) int { return slices.Index(kinds[:], k) }
	other := first(mmu.Lossy)
	if other < 0 {
		other = first(mmu.Lossless)
	}
	if other < 0 {
		return errors.New("the scenario has no class for real frames; allowed: one that is lossless or lossy")
	}
	of := func(class int) uint8 {
		if kinds[class] == mmu.Lossless || kinds[class] == mmu.Lossy {
			return uint8(class)
		}
		return uint8(other)
	}
	c := &s.classes
	c.Other, c.Many = uint8(other), uint8(other)
	for i := range c.DSCP {
		c.DSCP[i] = of(i >> 3)
	}
	for i := range c.PCP {
		c.PCP[i] = of(i)
	}
	for _, arg := range s.Marks {
		key, value, _ := strings.Cut(arg, "=")
		class, err := strconv.Atoi(value)
		if err != nil || class < 0 || class >= mmu.Classes || kinds[class] != mmu.Lossless && kinds[class] != mmu.Lossy {
			return fmt.Errorf("--class %s: allowed: dscpN=CLASS and pcpN=CLASS, with a class of the scenario that is lossless or lossy", arg)
		}
		switch n, table := numbered(key); {
		case table == "dscp" && n < len(c.DSCP):
			c.DSCP[n] = uint8(class)
		case table == "pcp" && n < len(c.PCP):
			c.PCP[n] = uint8(class)
		default:
			return fmt.Errorf("--class %s: allowed: dscp0 to dscp63, pcp0 to pcp7", arg)
		}
	}
	return nil
}

// numbered cuts a number from the end of a word.
func numbered(word string) (int, string) {
	name := strings.TrimRight(word, "0123456789")
	n, err := strconv.Atoi(word[len(name):])
	if err != nil {
		return 0, ""
	}
	return n, name
}

// away marks the hosts that are real; nil: there are none.
func (s *System) away() []bool {
	if len(s.real) == 0 {
		return nil
	}
	away := make([]bool, len(s.graph.Names))
	for i := range s.real {
		away[i] = true
	}
	return away
}

// Longest frames on an interface: those of a real host are as long as the scenario says;
// ours have longer headers than simulated ones, and a trailer.
const (
	wireSlack  = 256
	etherExtra = 18 // header and check sequence
)

func mtuAt(spec *sim.Spec, e sim.End) int {
	p := (&sim.Network{Spec: spec}).Port(e.Node, e.Port)
	return int(max(p.MTU, p.MTUOut))
}

func wireKey(e sim.End) string   { return fmt.Sprintf("port%d.%d", e.Node, e.Port) }
func outsideKey(node int) string { return fmt.Sprintf("outside%d", node) }

// Needs lists the sockets that a run needs, in the order in which Open takes them.
func (s *System) Needs() []Socket {
	if s.Setup {
		_, all := s.Plan()
		return all
	}
	var all []Socket
	peers := peersOf(s.spec)
	for _, node := range slices.Sorted(maps.Keys(s.real)) {
		if s.real[node] != "" {
			all = append(all, Socket{outsideKey(node), "", s.real[node], mtuAt(s.spec, peers[sim.End{Node: node}]) + wireSlack})
		}
	}
	for i := range s.spec.Cables {
		for _, e := range []sim.End{s.spec.Cables[i].A, s.spec.Cables[i].B} {
			if name := s.names[e]; name != "" {
				all = append(all, Socket{wireKey(e), "", name, mtuAt(s.spec, e) + wireSlack})
			}
		}
	}
	return all
}

// fabricSpace is the namespace that has the ends of all cables at switches. No host has its
// name.
func fabricSpace(hosts []string) string {
	name := "fabric"
	for slices.Contains(hosts, name) {
		name += "s"
	}
	return name
}

// interfaces names the interfaces of all ports: that of a host is alone in its namespace.
func interfaces(g *topo.Graph, spec *sim.Spec) map[sim.End]string {
	var ends []sim.End
	var cables []netns.Cable
	names, all := g.Names, make(map[sim.End]string)
	for i := range spec.Cables {
		c := &spec.Cables[i]
		for _, e := range [2][2]sim.End{{c.A, c.B}, {c.B, c.A}} {
			if all[e[0]] = "eth0"; e[0].Node >= len(spec.Hosts) {
				ends = append(ends, e[0])
				cables = append(cables, netns.Cable{Here: names[e[0].Node], Peer: names[e[1].Node], Node: e[0].Node, Port: e[0].Port})
			}
		}
	}
	for i, name := range netns.InterfaceNames(cables) {
		all[ends[i]] = name
	}
	return all
}

// Plan returns the namespaces of a run and the sockets that it needs in them: a namespace for
// each host, with eth0, and one for all switches.
func (s *System) Plan() (*netns.Plan, []Socket) {
	plan, all := &netns.Plan{Prefix: s.Prefix}, []Socket(nil)
	hosts, names := s.graph.Names[:len(s.spec.Hosts)], interfaces(s.graph, s.spec)
	fabric := fabricSpace(hosts)
	for i := range s.spec.Cables {
		c := &s.spec.Cables[i]
		ends, peers := [2]sim.End{c.A, c.B}, [2]sim.End{c.B, c.A}
		var made [2]netns.End
		wired := true
		for k, e := range ends {
			p := peers[k]
			mtu := mtuAt(s.spec, e) + wireSlack
			at := netns.End{Space: fabric, Name: names[e], MTU: mtu, MAC: macOf(e).String()}
			if e.Node < len(hosts) {
				at.Space = hosts[e.Node]
				if _, real := s.real[e.Node]; real {
					at.MTU = mtuAt(s.spec, p) - etherExtra
					at.Address = netip.PrefixFrom(netip.AddrFrom4(frame.HostIP(uint16(e.Node))), 8)
					all = append(all, Socket{outsideKey(e.Node), fabric, names[p], mtu})
					wired = false
				}
			}
			made[k] = at
		}
		if wired && !s.Packet {
			continue
		}
		plan.Pairs = append(plan.Pairs, netns.Pair{A: made[0], B: made[1]})
		for k, e := range ends {
			if wired {
				all = append(all, Socket{wireKey(e), made[k].Space, made[k].Name, made[k].MTU})
			}
		}
	}
	return plan, all
}

// OpenSockets opens sockets, each in its namespace: in calls a function there. What is open
// is returned with an error, too.
func OpenSockets(list []Socket, in func(space string, do func() error) error) (files []*os.File, err error) {
	for _, l := range list {
		if err := in(l.Space, func() error {
			f, err := OpenRing(l.Name, l.MTU)
			files = append(files, f)
			return err
		}); err != nil {
			return files, err
		}
	}
	return files, nil
}

// ParseSockets reads the file descriptors of sockets, which a parent opened.
func ParseSockets(text string, count int) ([]int, error) {
	given := strings.Split(text, ",")
	if len(given) != count {
		return nil, fmt.Errorf("--sockets has %d files; allowed: %d, from the parent of this process", len(given), count)
	}
	var list []int
	for _, word := range given {
		fd, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("--sockets: %w", err)
		}
		list = append(list, fd)
	}
	return list, nil
}

// Open maps the sockets of Needs, by their file descriptors.
func (s *System) Open(descriptors []int) error {
	s.rings = make(map[string]*Ring)
	for i, l := range s.Needs() {
		ring, err := NewRing(os.NewFile(uintptr(descriptors[i]), l.Name), l.MTU)
		if err != nil {
			return err
		}
		s.rings[l.key] = ring
	}
	return nil
}

// ports are the sockets of ports.
func (s *System) ports() map[sim.End]*Ring {
	all := make(map[sim.End]*Ring)
	for i := range s.spec.Cables {
		for _, e := range []sim.End{s.spec.Cables[i].A, s.spec.Cables[i].B} {
			if r := s.rings[wireKey(e)]; r != nil {
				all[e] = r
			}
		}
	}
	return all
}

// hosts are the real hosts of a run; nil: there are none.
func (s *System) hosts() *Outside {
	if len(s.real) == 0 {
		return nil
	}
	o := &Outside{Hosts: make(map[int]Interface), Classes: s.classes}
	for node := range s.real {
		o.Hosts[node] = nil
		if r := s.rings[outsideKey(node)]; r != nil {
			o.Hosts[node] = r
		}
	}
	return o
}
