package check

import (
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/dataplane"
)

// Storm is how far pauses spread from a host that gets stuck: it takes nothing and
// pauses its switch, whose queues fill up and pause their upstreams, and so on.
type Storm struct {
	Host    string   `json:"host"`   // the one that would do most harm
	Paused  []string `json:"hosts"`  // others that could not send any more, in some class
	Hosts   int      `json:"others"` // that there are
	Ports   []string `json:"ports"`  // between switches, that would pause
	OfPorts int      `json:"ports_between_switches"`
	Flows   int      `json:"flows,omitempty"` // of these hosts that would stand still; with the flows of the scenario only
	OfFlows int      `json:"of_flows,omitempty"`
}

// worse tells whether a storm does more harm than another.
func (s *Storm) worse(o *Storm) bool {
	if o == nil || len(s.Paused) != len(o.Paused) {
		return o == nil || len(s.Paused) > len(o.Paused)
	}
	if len(s.Ports) != len(o.Ports) {
		return len(s.Ports) > len(o.Ports)
	}
	return s.Flows > o.Flows
}

// stormer finds storms of some traffic.
type stormer struct {
	c      *checker
	f      *Fabric
	w      *walker
	layers []stormLayer
	back   [][]int32 // by queue: those that wait for it
	held   []bool    // by queue
}

// stormLayer is who sends to whom in some classes.
type stormLayer struct {
	*Traffic
	to    map[int][]int // by host: who sends to it on usual routes; nil: by Traffic
	own   []ownRoute
	outs  [][]bool // by host: channels that leave its switch by which it sends
	plain bool     // nobody has a route of its own
}

// ownRoute is one of some hosts.
type ownRoute struct {
	src, dst []int
	channels []int32
}

// storm looks at every host.
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
		s.turnBack()
		for i, part := range t.parts() {
			l := c.stormLayer(f, part, flows, o.Flows)
			s.leave(i, &l)
			s.layers = append(s.layers, l)
			plain = plain && l.plain
		}
		all = append(all, s)
	}
	seen := make([]bool, len(f.homes))
	for host := range c.Graph.Hosts {
		if plain && seen[f.hosts[host]] { // hosts of a switch are alike
			continue
		}
		seen[f.hosts[host]] = true
		if found := c.stormOf(f, all, host, flows); found.worse(c.report.Storm) {
			c.report.Storm = found
		}
	}
	return nil
}

// stormLayer says who sends to whom by flows, or by what is possible.
func (c *checker) stormLayer(f *Fabric, t *Traffic, flows []dataplane.Flow, byFlows bool) stormLayer {
	l := stormLayer{Traffic: t}
	if !byFlows {
		for _, p := range c.Pins {
			l.own = append(l.own, ownRoute{p.Src, p.Dst, f.route(p.Hops)})
		}
		l.plain = len(l.own) == 0
		return l
	}
	l.to = make(map[int][]int)
	ways, pins := c.ways(f, flows), c.pinOf()
	seen := make(map[[2]int]bool) // what a flow before had, too
	for i := range flows {
		pair := [2]int{int(flows[i].Src), int(flows[i].Dst)}
		if !t.Classes.Has(flows[i].Class) {
			continue
		}
		if way := ways[i].data; way != nil {
			l.own = append(l.own, ownRoute{pair[:1], pair[1:], way.channels})
			continue
		}
		if seen[pair] {
			continue
		}
		seen[pair] = true
		if at, ok := pins[pair]; ok {
			l.own = append(l.own, ownRoute{pair[:1], pair[1:], f.route(c.Pins[at].Hops)})
		} else {
			l.to[pair[1]] = append(l.to[pair[1]], pair[0])
		}
	}
	return l
}

// pinOf returns the pinned route of each pair of hosts that has one.
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

// turnBack turns dependencies around.
func (s *stormer) turnBack() {
	s.back = make([][]int32, s.w.deps.queues())
	s.held = make([]bool, len(s.back))
	var list []int32
	for q := range s.back {
		list = s.w.deps.waits(list[:0], int32(q))
		for _, n := range list {
			s.back[n] = append(s.back[n], int32(q))
		}
	}
}

// leave finds the channels by which hosts send.
func (s *stormer) leave(layer int, l *stormLayer) {
	l.outs = make([][]bool, len(s.f.hosts))
	for host := range l.outs {
		l.outs[host] = make([]bool, len(s.f.out[s.f.homes[s.f.hosts[host]]]))
	}
	towards := make([][]int, len(s.f.homes)) // by home: hosts that send there, perhaps several times
	for dst := range s.f.hosts {
		towards[s.f.hosts[dst]] = append(towards[s.f.hosts[dst]], l.to[dst]...)
	}
	for home := range s.f.homes {
		s.w.distances(s.f.homes[home])
		if l.to != nil {
			for _, src := range towards[home] {
				s.leaveBy(l, src, home)
			}
			continue
		}
		for src := range s.f.hosts {
			if l.sends(int(s.f.hosts[src]), home) {
				s.leaveBy(l, src, home)
			}
		}
	}
	for _, r := range l.own {
		for _, src := range r.src {
			if len(r.channels) > 0 {
				l.outs[src][s.f.slot[r.channels[0]]] = true
			}
		}
	}
}

// leaveBy adds the channels by which a host sends to a home, whose distances are known.
func (s *stormer) leaveBy(l *stormLayer, src, home int) {
	at := s.f.homes[s.f.hosts[src]]
	if int(s.f.hosts[src]) == home {
		return
	}
	for slot, c := range s.f.out[at] {
		if s.w.dist[s.f.ends[c].to] != s.w.dist[at]-1 {
			continue
		}
		l.outs[src][slot] = true
		if s.f.first {
			return
		}
	}
}

// spread finds the queues that a host holds up when it is stuck.
func (s *stormer) spread(host int) {
	clear(s.held)
	home := s.f.hosts[host]
	var queue []int32
	hold := func(layer int, c int32) {
		if q := s.w.deps.queue(c, layer); s.f.holds[c] && !s.held[q] {
			s.held[q] = true
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
			hold(layer, c)
		}
		for _, r := range l.own {
			if n := len(r.channels); n > 0 && slices.Contains(r.dst, host) {
				hold(layer, r.channels[n-1])
			}
		}
	}
	for i := 0; i < len(queue); i++ {
		for _, q := range s.back[queue[i]] {
			if !s.held[q] {
				s.held[q] = true
				queue = append(queue, q)
			}
		}
	}
}

// stops tells whether a host waits in a layer for what is held up.
func (s *stormer) stops(layer, host, stuck int) bool {
	l := &s.layers[layer]
	if s.f.hosts[host] == s.f.hosts[stuck] && l.neighbour(host, stuck) {
		return true
	}
	for slot, c := range s.f.out[s.f.homes[s.f.hosts[host]]] {
		if l.outs[host][slot] && s.held[s.w.deps.queue(c, layer)] {
			return true
		}
	}
	return false
}

// neighbour tells whether a host sends to another one of its switch.
func (l *stormLayer) neighbour(src, dst int) bool {
	if l.to == nil || slices.Contains(l.to[dst], src) {
		return true
	}
	return slices.ContainsFunc(l.own, func(r ownRoute) bool { return slices.Contains(r.src, src) && slices.Contains(r.dst, dst) })
}

// stormOf puts together what a stuck host does to all traffic.
func (c *checker) stormOf(f *Fabric, all []*stormer, stuck int, flows []dataplane.Flow) *Storm {
	out := &Storm{Host: c.Graph.Names[stuck], Hosts: c.Graph.Hosts - 1, OfFlows: len(flows), Paused: []string{}, Ports: []string{}}
	classes := make([]packet.ClassMask, c.Graph.Hosts) // by host: those in which it is paused
	ports := make([]bool, len(f.ends))
	for _, s := range all {
		s.spread(stuck)
		for q, is := range s.held {
			if is {
				ports[s.w.deps.channel(int32(q))] = true
			}
		}
		for host := range classes {
			e := &c.l.PortEnds()[host][0]
			at := &c.Switches[e.To-c.Graph.Hosts].Ports[e.Port]
			if host == stuck || !at.Holds {
				continue
			}
			for layer := range s.layers {
				if s.stops(layer, host, stuck) {
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
	for ch, is := range ports {
		if !f.between(ch / 2) {
			continue
		}
		if out.OfPorts++; is {
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

// ingress names the port at which a channel ends.
func (f *Fabric) ingress(c int32) string {
	l := &f.graph.Links[c/2]
	port, node := l.PortB, l.B
	if c%2 == 1 {
		port, node = l.PortA, l.A
	}
	name, _ := f.graph.PortNames(node, port, -1)
	return name
}
