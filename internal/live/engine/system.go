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

// System is the part of a run that needs the operating system: real hosts, and interfaces
// instead of cables. Opening sockets needs privileges, so a parent process does it; see Child.
type System struct {
	Setup      bool     // create namespaces and interfaces; see Plan
	Packet     bool     // interfaces carry the frames between nodes
	Outside    []string // real hosts: HOST=INTERFACE or HOST
	Interfaces []string // interfaces of ports: PORT=INTERFACE
	Marks      []string // classes of real frames: dscpN=CLASS or pcpN=CLASS
	Prefix     string   // prefix of the names of namespaces

	graph   *topo.Graph
	spec    *sim.Spec
	real    map[int]string     // real hosts with their interface; "": behind another process
	names   map[sim.End]string // ports with an interface
	rings   map[string]*Ring   // by key of the Socket
	classes Classes
}

// Socket is a packet socket that a run needs.
type Socket struct {
	key   string
	Space string // namespace of its interface; empty: the one of the process
	Name  string // interface
	MTU   int
}

// Resolve looks up the hosts, ports and classes of a run. Elsewhere reports whether other
// processes run some of the nodes.
func (s *System) Resolve(g *topo.Graph, spec *sim.Spec, elsewhere bool) error {
	s.graph, s.spec = g, spec
	s.real, s.names = make(map[int]string), make(map[sim.End]string)
	taken := make(map[string]string) // by interface: its host or port
	take := func(line, what string) error {
		if other, twice := taken[line]; twice && line != "" {
			return fmt.Errorf("interface %s is used for %s and for %s (expected one interface for each)", line, other, what)
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
			return fmt.Errorf("--outside has %s twice (expected each host once)", name)
		case named && (line == "" || s.Setup):
			return fmt.Errorf("--outside is %q (expected HOST=INTERFACE, or HOST with --setup, which creates the interface)", arg)
		case !named && !s.Setup && !elsewhere:
			return fmt.Errorf("--outside is %q, but this process runs all nodes (expected HOST=INTERFACE; or HOST with --setup; or HOST with --node, if another process has it)", arg)
		}
		s.real[node] = line
		if err := take(line, name); err != nil {
			return err
		}
	}
	for _, arg := range s.Interfaces {
		port, name, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("--map is %q (expected with --wire packet: PORT=INTERFACE, such as leaf0.to-host3=veth3)", arg)
		}
		end, err := PortOf(g, port)
		if err != nil {
			return fmt.Errorf("--map: %w", err)
		}
		if name == "" {
			return fmt.Errorf("--map is %q, without an interface (expected PORT=INTERFACE)", arg)
		}
		if old := s.names[end]; old != "" {
			return fmt.Errorf("--map is %q, but %s already uses interface %s (expected one interface for each port)", arg, port, old)
		}
		s.names[end] = name
		if err := take(name, port); err != nil {
			return err
		}
	}
	return s.classify(&spec.Hosts[0].Kinds)
}

// classify builds the tables that map real frames to classes.
func (s *System) classify(kinds *[mmu.Classes]mmu.Kind) error {
	first := func(k mmu.Kind) int { return slices.Index(kinds[:], k) }
	other := first(mmu.Lossy)
	if other < 0 {
		other = first(mmu.Lossless)
	}
	if other < 0 {
		return errors.New("the scenario has no class for real frames (expected a lossless or lossy class)")
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
			return fmt.Errorf("--class is %s (expected dscpN=CLASS or pcpN=CLASS, with a lossless or lossy class of the scenario)", arg)
		}
		switch n, table := numbered(key); {
		case table == "dscp" && n < len(c.DSCP):
			c.DSCP[n] = uint8(class)
		case table == "pcp" && n < len(c.PCP):
			c.PCP[n] = uint8(class)
		default:
			return fmt.Errorf("--class is %s (expected dscp0 to dscp63, or pcp0 to pcp7)", arg)
		}
	}
	return nil
}

// numbered splits a word into its trailing number and the text before it.
func numbered(word string) (int, string) {
	name := strings.TrimRight(word, "0123456789")
	n, err := strconv.Atoi(word[len(name):])
	if err != nil {
		return 0, ""
	}
	return n, name
}

// away marks the real hosts; nil if there are none.
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

// Sizes added to the MTU of the scenario on interfaces.
const (
	wireSlack  = 256 // headers of encoded frames are longer than simulated ones, and have a trailer
	etherExtra = 18  // Ethernet header and check sequence
)

func mtuAt(spec *sim.Spec, e sim.End) int {
	p := (&sim.Network{Spec: spec}).Port(e.Node, e.Port)
	return int(max(p.MTU, p.MTUOut))
}

func wireKey(e sim.End) string   { return fmt.Sprintf("port%d.%d", e.Node, e.Port) }
func outsideKey(node int) string { return fmt.Sprintf("outside%d", node) }

// Needs returns the sockets of a run, in the order that Open expects.
func (s *System) Needs() []Socket {
	if s.Setup {
		_, all := s.Plan()
		return all
	}
	var all []Socket
	peers := peersOf(s.spec)
	for _, node := range slices.Sorted(maps.Keys(s.real)) {
		if s.real[node] != "" {
			all = append(all, Socket{outsideKey(node), "", s.real[node], mtuAt(s.spec, *peers.of(sim.End{Node: node})) + wireSlack})
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

// fabricSpace returns the name of the namespace for all switches. It differs from all names of
// hosts.
func fabricSpace(hosts []string) string {
	name := "fabric"
	for slices.Contains(hosts, name) {
		name += "s"
	}
	return name
}

// interfaces returns the names of the interfaces of all ports. A host has its own namespace, so
// its interface is eth0.
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

// Plan returns the namespaces of a run and its sockets in them: one namespace for each host,
// and one for all switches.
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
					at.Address = netip.PrefixFrom(netip.AddrFrom4(frame.HostIP(uint32(e.Node))), 8)
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

// OpenSockets opens sockets, each in its namespace; in calls a function in a namespace. If it
// fails, it also returns the sockets opened so far.
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

// ParseSockets parses the file descriptors of sockets that the parent process opened.
func ParseSockets(text string, count int) ([]int, error) {
	words := strings.Split(text, ",")
	if len(words) != count {
		return nil, fmt.Errorf("--sockets has %d files (expected %d, from the parent process)", len(words), count)
	}
	var list []int
	for _, word := range words {
		fd, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("--sockets: %w", err)
		}
		list = append(list, fd)
	}
	return list, nil
}

// Open maps the rings of the sockets of Needs, given their file descriptors.
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

// ports returns the rings of ports.
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

// hosts returns the real hosts of the run; nil if there are none.
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
