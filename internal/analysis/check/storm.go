package check

import (
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/dataplane"
)

// Storm describes how far pauses spread from a stuck host. The host accepts no frames and
// pauses its switch, whose queues fill up and pause their upstreams, and so on.
type Storm struct {
	Host    string   `json:"host"`                   // the host with the worst storm
	Paused  []string `json:"hosts"`                  // other hosts that would be paused, in at least one class
	Hosts   int      `json:"others"`                 // number of other hosts
	Ports   []string `json:"ports"`                  // ports between switches that would pause
	OfPorts int      `json:"ports_between_switches"` // number of ports between switches
	Flows   int      `json:"flows,omitempty"`        // flows that would be paused; only with Options.Flows
	OfFlows int      `json:"of_flows,omitempty"`     // number of flows; only with Options.Flows
}

// worse reports whether s spreads further than o.
func (s *Storm) worse(o *Storm) bool {
	if o == nil || len(s.Paused) != len(o.Paused) {
		return o == nil || len(s.Paused) > len(o.Paused)
	}
	if len(s.Ports) != len(o.Ports) {
		return len(s.Ports) > len(o.Ports)
	}
	return s.Flows > o.Flows
}

// stormer computes how pauses of some traffic spread.
type stormer struct {
	c       *checker
	f       *Fabric
	w       *walker
	layers  []stormLayer
	waiters [][]int32 // by queue: queues that wait for it
	blocked []bool    // by queue: blocked by the stuck host
}

// stormLayer describes the senders of one layer of traffic.
type stormLayer struct {
	*Traffic
	to     map[int][]int // by host: hosts that send to it on shortest paths; nil: as in Traffic
	routes []hostRoute
	exits  [][]bool // by host and slot: it sends through this channel of its switch
	plain  bool     // there are no pinned routes
}

// hostRoute is a pinned route between hosts.
type hostRoute struct {
	src, dst []int
	channels []int32
}

// storm finds the host whose failure to accept frames pauses most of the fabric.
func (c *checker) storm(f *Fabric, kinds []*Traffic, o Options) error {
	if len(kinds) == 0 {
		return nil
	}
	var flows []dataplane.Flow
	if o.Flows {
		var err error
		if flows, err = c.Flows(); err != nil {
			return err
		}
	}
	var all []*stormer
	plain := !o.Flows
	for _, t := range kinds {
		s := &stormer{c: c, f: f, w: newWalker(f, t)}
		s.w.all()
		s.reverse()
		for i, part := range t.parts() {
			l := c.stormLayer(f, part, flows, o.Flows)
			s.findExits(i, &l)
			s.layers = append(s.layers, l)
			plain = plain && l.plain
		}
		all = append(all, s)
	}
	seen := make([]bool, len(f.homes))
	for host := range c.Graph.Hosts {
		if plain && seen[f.hosts[host]] { // all hosts of a switch have the same effect
			continue
		}
		seen[f.hosts[host]] = true
		if found := c.stormOf(f, all, host, flows); found.worse(c.report.Storm) {
			c.report.Storm = found
		}
	}
	return nil
}

// stormLayer returns the senders of traffic t: by the scenario's flows, or all possible ones.
func (c *checker) stormLayer(f *Fabric, t *Traffic, flows []dataplane.Flow, byFlows bool) stormLayer {
	l := stormLayer{Traffic: t}
	if !byFlows {
		for _, p := range c.Pins {
			l.routes = append(l.routes, hostRoute{p.Src, p.Dst, f.route(p.Hops)})
		}
		l.plain = len(l.routes) == 0
		return l
	}
	l.to = make(map[int][]int)
	routes, pins := c.flowRoutes(f, flows), c.pinOf()
	seen := make(map[[2]int]bool) // pairs of earlier flows
	for i := range flows {
		pair := [2]int{int(flows[i].Src), int(flows[i].Dst)}
		if !t.Classes.Has(flows[i].Class) {
			continue
		}
		if route := routes[i].data; route != nil {
			l.routes = append(l.routes, hostRoute{pair[:1], pair[1:], route.channels})
			continue
		}
		if seen[pair] {
			continue
		}
		seen[pair] = true
		if at, ok := pins[pair]; ok {
			l.routes = append(l.routes, hostRoute{pair[:1], pair[1:], f.route(c.Pins[at].Hops)})
		} else {
			l.to[pair[1]] = append(l.to[pair[1]], pair[0])
		}
	}
	return l
}

// pinOf returns the index in Pins of the pinned route of each pair of hosts that has one.
func (c *checker) pinOf() map[[2]int]int {
	pins := make(map[[2]int]int)
	for i, p := range c.Pins {
		for _, src := range p.Src {
			for _, dst := range p.Dst {
				if src != dst {
					pins[[2]int{src, dst}] = i
				}
			}
		}
	}
	return pins
}

// reverse fills in waiters, the reversed dependencies.
func (s *stormer) reverse() {
	s.waiters = make([][]int32, s.w.deps.queues())
	s.blocked = make([]bool, len(s.waiters))
	var list []int32
	for q := range s.waiters {
		list = s.w.deps.waits(list[:0], int32(q))
		for _, n := range list {
			s.waiters[n] = append(s.waiters[n], int32(q))
		}
	}
}

// findExits fills in exits, the channels through which hosts send.
func (s *stormer) findExits(layer int, l *stormLayer) {
	l.exits = make([][]bool, len(s.f.hosts))
	for host := range l.exits {
		l.exits[host] = make([]bool, len(s.f.out[s.f.homes[s.f.hosts[host]]]))
	}
	senders := make([][]int, len(s.f.homes)) // by home: hosts that send to it, possibly repeated
	for dst := range s.f.hosts {
		senders[s.f.hosts[dst]] = append(senders[s.f.hosts[dst]], l.to[dst]...)
	}
	for home := range s.f.homes {
		s.w.distances(s.f.homes[home])
		if l.to != nil {
			for _, src := range senders[home] {
				s.addExits(l, src, home)
			}
			continue
		}
		for src := range s.f.hosts {
			if l.sends(int(s.f.hosts[src]), home) {
				s.addExits(l, src, home)
			}
		}
	}
	for _, r := range l.routes {
		for _, src := range r.src {
			if len(r.channels) > 0 {
				l.exits[src][s.f.slot[r.channels[0]]] = true
			}
		}
	}
}

// addExits adds the channels through which a host sends to home. Call distances first.
func (s *stormer) addExits(l *stormLayer, src, home int) {
	at := s.f.homes[s.f.hosts[src]]
	if int(s.f.hosts[src]) == home {
		return
	}
	for slot, c := range s.f.out[at] {
		if s.w.dist[s.f.ends[c].to] != s.w.dist[at]-1 {
			continue
		}
		l.exits[src][slot] = true
		if s.f.firstPath {
			return
		}
	}
}

// spread finds the queues that a stuck host blocks.
func (s *stormer) spread(host int) {
	clear(s.blocked)
	home := s.f.hosts[host]
	var queue []int32
	block := func(layer int, c int32) {
		if q := s.w.deps.queue(c, layer); s.f.pauses[c] && !s.blocked[q] {
			s.blocked[q] = true
			queue = append(queue, q)
		}
	}
	s.w.distances(s.f.homes[home])
	for layer := range s.layers {
		l := &s.layers[layer]
		from := make([]bool, len(s.f.homes))
		for i := range from {
			from[i] = l.to == nil && l.sends(i, int(home))
		}
		for _, src := range l.to[host] {
			from[s.f.hosts[src]] = s.f.hosts[src] != home
		}
		s.w.floodFrom(layer, func(i int) bool { return from[i] })
		for _, c := range s.w.in[s.f.homes[home]] {
			block(layer, c)
		}
		for _, r := range l.routes {
			if n := len(r.channels); n > 0 && slices.Contains(r.dst, host) {
				block(layer, r.channels[n-1])
			}
		}
	}
	for i := 0; i < len(queue); i++ {
		for _, q := range s.waiters[queue[i]] {
			if !s.blocked[q] {
				s.blocked[q] = true
				queue = append(queue, q)
			}
		}
	}
}

// isBlocked reports whether a host is paused in a layer because another host is stuck.
func (s *stormer) isBlocked(layer, host, stuck int) bool {
	l := &s.layers[layer]
	if s.f.hosts[host] == s.f.hosts[stuck] && l.sendsTo(host, stuck) {
		return true
	}
	for slot, c := range s.f.out[s.f.homes[s.f.hosts[host]]] {
		if l.exits[host][slot] && s.blocked[s.w.deps.queue(c, layer)] {
			return true
		}
	}
	return false
}

// sendsTo reports whether a host sends to another host of its switch.
func (l *stormLayer) sendsTo(src, dst int) bool {
	if l.to == nil || slices.Contains(l.to[dst], src) {
		return true
	}
	return slices.ContainsFunc(l.routes, func(r hostRoute) bool { return slices.Contains(r.src, src) && slices.Contains(r.dst, dst) })
}

// stormOf returns the effect of a stuck host on all traffic.
func (c *checker) stormOf(f *Fabric, all []*stormer, stuck int, flows []dataplane.Flow) *Storm {
	out := &Storm{Host: c.Graph.Names[stuck], Hosts: c.Graph.Hosts - 1, OfFlows: len(flows), Paused: []string{}, Ports: []string{}}
	classes := make([]packet.ClassMask, c.Graph.Hosts) // by host: paused classes
	ports := make([]bool, len(f.ends))
	for _, s := range all {
		s.spread(stuck)
		for q, blocked := range s.blocked {
			if blocked {
				ports[s.w.deps.channel(int32(q))] = true
			}
		}
		for host := range classes {
			e := &c.l.PortEnds()[host][0]
			at := &c.Switches[e.To-c.Graph.Hosts].Ports[e.Port]
			if host == stuck || !at.Pauses {
				continue
			}
			for layer := range s.layers {
				if s.isBlocked(layer, host, stuck) {
					classes[host] |= s.layers[layer].Classes
				}
			}
			if classes[host] != 0 && at.Joins {
				classes[host] = c.lossless()
			}
		}
	}
	for host, mask := range classes {
		if mask != 0 {
			out.Paused = append(out.Paused, c.Graph.Names[host])
		}
	}
	for ch, paused := range ports {
		if !f.betweenSwitches(ch / 2) {
			continue
		}
		if out.OfPorts++; paused {
			out.Ports = append(out.Ports, f.ingress(int32(ch)))
		}
	}
	for i := range flows {
		if classes[flows[i].Src].Has(flows[i].Class) {
			out.Flows++
		}
	}
	return out
}

// ingress returns the name of the port at which a channel ends.
func (f *Fabric) ingress(c int32) string {
	l := &f.graph.Links[c/2]
	port, node := l.PortB, l.B
	if c%2 == 1 {
		port, node = l.PortA, l.A
	}
	name, _ := f.graph.PortNames(node, port, -1)
	return name
}
