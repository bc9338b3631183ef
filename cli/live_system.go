package cli

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/live"
	"github.com/xoff-net/xoff/internal/netns"
	"github.com/xoff-net/xoff/scenario/build"
	"github.com/xoff-net/xoff/sim"
)

// systemFlags are those of `xoff live` that concern interfaces of the system. What they
// need privileges for is done by a parent: it makes namespaces, opens sockets, starts this
// program once more without privileges and with the sockets, and removes what it made.
type systemFlags struct {
	setup   string
	outside []string
	classes []string
	prefix  string
	user    string
	sockets string // of the child: which socket is which file
	text    []byte // of the scenario, for the child

	real  map[int]string        // hosts that are outside, with their interface, "" for elsewhere
	ports map[sim.End]string    // ports with an interface
	files map[string]*live.Ring // by key, in the child
	dscp  live.Classes
}

const setupNetns = "netns"

func (s *systemFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.setup, "setup", "", "make interfaces by `METHOD`: netns makes a namespace for each host and a veth pair for each cable, and removes them (root)")
	flags.StringSliceVar(&s.outside, "outside", nil, "real hosts: `HOST=INTERFACE`, such as host6=veth6, or host6 with --setup or for one that is behind another process")
	flags.StringSliceVar(&s.classes, "class", nil, "class of real frames: `MARK=CLASS`, such as dscp26=3 or pcp4=3 "+
		"(default: class n for DSCP 8n to 8n+7 and PCP n if it is lossless or lossy, else the first lossy one)")
	flags.StringVar(&s.prefix, "prefix", "xoff", "`PREFIX` of the names of namespaces")
	flags.StringVar(&s.user, "user", "", "run as `UID:GID` when sockets are open (default for root: who called sudo, else 65534:65534)")
	flags.StringVar(&s.sockets, "sockets", "", "file descriptor `NUMBERS` of sockets that the parent process opened")
	_ = flags.MarkHidden("sockets")
}

// used reports whether anything of the system is wanted.
func (s *systemFlags) used(wire string) bool {
	return s.setup != "" || wire == wirePacket || len(s.outside) > 0
}

// resolve finds the hosts, ports and classes that flags name.
func (s *systemFlags) resolve(b *build.Built, mapped []string, elsewhere bool) error {
	s.real, s.ports = make(map[int]string), make(map[sim.End]string)
	taken := make(map[string]string) // interfaces, with what they are for
	take := func(line, what string) error {
		if other, twice := taken[line]; twice && line != "" {
			return failf(exitInput, "%s is the interface of %s and of %s; allowed: one for each", line, other, what)
		}
		taken[line] = what
		return nil
	}
	for _, arg := range s.outside {
		name, line, named := strings.Cut(arg, "=")
		node := slices.Index(b.Graph.Names, name)
		if node < 0 || node >= len(b.Spec.Hosts) {
			return failf(exitInput, "--outside: %w", registry.Unknown("host", name, b.Graph.Names[:len(b.Spec.Hosts)]))
		}
		switch _, twice := s.real[node]; {
		case twice:
			return failf(exitInput, "--outside has %s twice; allowed: each host once", name)
		case named && (line == "" || s.setup != ""):
			return failf(exitInput, "--outside is %q; allowed: HOST=INTERFACE, or HOST with --setup, which makes its interface", arg)
		case !named && s.setup == "" && !elsewhere:
			return failf(exitInput, "--outside is %q, and all nodes are here; allowed: HOST=INTERFACE, or HOST with --setup, or with --node for one that is elsewhere", arg)
		}
		s.real[node] = line
		if err := take(line, name); err != nil {
			return err
		}
	}
	for _, arg := range mapped {
		port, name, ok := strings.Cut(arg, "=")
		if !ok {
			return failf(exitInput, "--map is %q; allowed with --wire packet: PORT=INTERFACE, such as leaf0.to-host3=veth3", arg)
		}
		end, err := live.PortOf(b.Graph, port)
		if err != nil {
			return failf(exitInput, "--map: %w", err)
		}
		if s.ports[end] != "" || name == "" {
			return failf(exitInput, "--map is %q; allowed: one interface for each port", arg)
		}
		s.ports[end] = name
		if err := take(name, port); err != nil {
			return err
		}
	}
	return s.classify(&b.Spec.Hosts[0].Kinds)
}

// classify builds the map from real frames to classes.
func (s *systemFlags) classify(kinds *[mmu.Classes]mmu.Kind) error {
	first := func(k mmu.Kind) int { return slices.Index(kinds[:], k) }
	other := first(mmu.Lossy)
	if other < 0 {
		other = first(mmu.Lossless)
	}
	if other < 0 {
		return failf(exitInput, "the scenario has no class for real frames; allowed: one that is lossless or lossy")
	}
	of := func(class int) uint8 {
		if kinds[class] == mmu.Lossless || kinds[class] == mmu.Lossy {
			return uint8(class)
		}
		return uint8(other)
	}
	c := &s.dscp
	c.Other, c.Many = uint8(other), uint8(other)
	for i := range c.DSCP {
		c.DSCP[i] = of(i >> 3)
	}
	for i := range c.PCP {
		c.PCP[i] = of(i)
	}
	for _, arg := range s.classes {
		key, value, _ := strings.Cut(arg, "=")
		class, err := strconv.Atoi(value)
		if err != nil || class < 0 || class >= mmu.Classes || kinds[class] != mmu.Lossless && kinds[class] != mmu.Lossy {
			return failf(exitInput, "--class %s: allowed: dscpN=CLASS and pcpN=CLASS, with a class of the scenario that is lossless or lossy", arg)
		}
		switch n, table := numbered(key); {
		case table == "dscp" && n < len(c.DSCP):
			c.DSCP[n] = uint8(class)
		case table == "pcp" && n < len(c.PCP):
			c.PCP[n] = uint8(class)
		default:
			return failf(exitInput, "--class %s: allowed: dscp0 to dscp63, pcp0 to pcp7", arg)
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
func (s *systemFlags) away(nodes int) []bool {
	if len(s.real) == 0 {
		return nil
	}
	away := make([]bool, nodes)
	for i := range s.real {
		away[i] = true
	}
	return away
}

// line is a socket that a run needs: its key, and where its interface is.
type line struct {
	key, space, name string
	mtu              int
}

// Longest frames on an interface: those of a real host are as long as the scenario says;
// ours have longer headers than simulated ones, and a trailer.
const (
	wireSlack  = 256
	etherExtra = 18 // header and check sequence
)

func portAt(spec *sim.Spec, e sim.End) *link.Port {
	if e.Node < len(spec.Hosts) {
		return &spec.Hosts[e.Node].Port
	}
	return &spec.Switches[e.Node-len(spec.Hosts)].Ports[e.Port]
}

func mtuAt(spec *sim.Spec, e sim.End) int {
	p := portAt(spec, e)
	return int(max(p.MTU, p.MTUOut))
}

func wireKey(e sim.End) string   { return fmt.Sprintf("port%d.%d", e.Node, e.Port) }
func outsideKey(node int) string { return fmt.Sprintf("outside%d", node) }

// switchEnd is the port that a host is cabled to.
func switchEnd(spec *sim.Spec, host int) sim.End {
	for i := range spec.Cables {
		switch c := &spec.Cables[i]; host {
		case c.A.Node:
			return c.B
		case c.B.Node:
			return c.A
		}
	}
	return sim.End{}
}

// lines lists the sockets that a run needs without --setup.
func (s *systemFlags) lines(b *build.Built) []line {
	var all []line
	for _, node := range slices.Sorted(maps.Keys(s.real)) {
		if s.real[node] != "" {
			all = append(all, line{outsideKey(node), "", s.real[node], mtuAt(b.Spec, switchEnd(b.Spec, node)) + wireSlack})
		}
	}
	for i := range b.Spec.Cables {
		for _, e := range []sim.End{b.Spec.Cables[i].A, b.Spec.Cables[i].B} {
			if name := s.ports[e]; name != "" {
				all = append(all, line{wireKey(e), "", name, mtuAt(b.Spec, e) + wireSlack})
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
func interfaces(b *build.Built) map[sim.End]string {
	var ends []sim.End
	var cables []netns.Cable
	names, all := b.Graph.Names, make(map[sim.End]string)
	for i := range b.Spec.Cables {
		c := &b.Spec.Cables[i]
		for _, e := range [2][2]sim.End{{c.A, c.B}, {c.B, c.A}} {
			if all[e[0]] = "eth0"; e[0].Node >= len(b.Spec.Hosts) {
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

// needs lists the sockets that a run needs.
func (s *systemFlags) needs(b *build.Built, packetWires bool) []line {
	if s.setup == "" {
		return s.lines(b)
	}
	_, all := s.plan(b, packetWires)
	return all
}

// plan is what --setup makes, and the sockets that a run needs of it: a namespace for each
// host, with eth0, and one for all switches.
func (s *systemFlags) plan(b *build.Built, packetWires bool) (*netns.Plan, []line) {
	plan, all := &netns.Plan{Prefix: s.prefix}, []line(nil)
	hosts, names := b.Graph.Names[:len(b.Spec.Hosts)], interfaces(b)
	fabric := fabricSpace(hosts)
	for i := range b.Spec.Cables {
		c := &b.Spec.Cables[i]
		ends, peers := [2]sim.End{c.A, c.B}, [2]sim.End{c.B, c.A}
		var made [2]netns.End
		wired := true
		for k, e := range ends {
			p := peers[k]
			mtu := mtuAt(b.Spec, e) + wireSlack
			at := netns.End{Space: fabric, Name: names[e], MTU: mtu, MAC: frame.PortMAC(uint16(e.Node), uint16(e.Port)).String()}
			if e.Node < len(hosts) {
				at.Space = hosts[e.Node]
				if _, real := s.real[e.Node]; real {
					at.MTU = mtuAt(b.Spec, p) - etherExtra
					at.Address = netip.PrefixFrom(netip.AddrFrom4(frame.HostIP(uint16(e.Node))), 8)
					all = append(all, line{outsideKey(e.Node), fabric, names[p], mtu})
					wired = false
				}
			}
			made[k] = at
		}
		if wired && !packetWires {
			continue
		}
		plan.Pairs = append(plan.Pairs, netns.Pair{A: made[0], B: made[1]})
		for k, e := range ends {
			if wired {
				all = append(all, line{wireKey(e), made[k].Space, made[k].Name, made[k].MTU})
			}
		}
	}
	return plan, all
}

// open maps the sockets that the parent has opened.
func (s *systemFlags) open(b *build.Built, packetWires bool) error {
	all := s.needs(b, packetWires)
	s.files = make(map[string]*live.Ring)
	given := strings.Split(s.sockets, ",")
	if len(given) != len(all) {
		return failf(exitInput, "--sockets has %d files; allowed: %d, from the parent of this process", len(given), len(all))
	}
	for i, l := range all {
		fd, err := strconv.Atoi(given[i])
		if err != nil {
			return failf(exitInput, "--sockets: %w", err)
		}
		ring, err := live.NewRing(os.NewFile(uintptr(fd), l.name), l.mtu)
		if err != nil {
			return wrap(exitFailure, err)
		}
		s.files[l.key] = ring
	}
	return nil
}

// rings are the sockets of ports.
func (s *systemFlags) rings(spec *sim.Spec) map[sim.End]*live.Ring {
	all := make(map[sim.End]*live.Ring)
	for i := range spec.Cables {
		for _, e := range []sim.End{spec.Cables[i].A, spec.Cables[i].B} {
			if r := s.files[wireKey(e)]; r != nil {
				all[e] = r
			}
		}
	}
	return all
}

// hosts are the real hosts of a run; nil: there are none.
func (s *systemFlags) hosts() *live.Outside {
	if len(s.real) == 0 {
		return nil
	}
	o := &live.Outside{Hosts: make(map[int]live.Interface), Classes: s.dscp}
	for node := range s.real {
		o.Hosts[node] = nil
		if r := s.files[outsideKey(node)]; r != nil {
			o.Hosts[node] = r
		}
	}
	return o
}
