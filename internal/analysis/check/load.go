package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/workload"
)

// maxLoadHosts is the largest number of hosts for which the load of links is computed: it takes a
// step for every pair.
const maxLoadHosts = 4096

// offered is what workloads offer to each direction of a link, in bytes per second.
type offered struct {
	c      *checker
	demand [][]float64 // by edge switch of the receiver and of the sender
	edges  []int       // switches with hosts
	edge   []int       // by host: index in edges
	down   []float64   // by host: to it
	up     []float64   // by host: from it
	link   []float64   // by link twice: from A to B, from B to A
	most   float64     // load of the worst link
	of     []int       // workloads
}

// load is a workload with an offered load.
type load struct {
	index       int
	env         *workload.Env
	bytes       float64 // per second, with headers
	toSink      bool    // bursts draw the receiver first
	start, stop units.Time
}

// loads returns the workloads with an offered load.
func (c *checker) loads() []load {
	var list []load
	for i := range c.Config.Workload {
		w := &c.Config.Workload[i]
		g, e, err := c.l.Generator(i)
		if err != nil || e.Load == 0 || e.Pairs == nil {
			continue
		}
		_, toSink := g.(*workload.Incast)
		h := c.l.OfHosts[0].Variant(w.Transport)
		list = append(list, load{i, e, e.Load * float64(h.Payload+h.HeaderSize()) / float64(h.Payload), toSink,
			e.Start, e.Stop})
	}
	return list
}

// overloads finds directions of links for which the workloads offer more than their rate: queues
// there grow for as long as the workloads last, whatever the settings of switches. Pinned routes
// are not followed.
func (c *checker) overloads() {
	if c.Graph.Hosts > maxLoadHosts || len(c.Pins) > 0 {
		return
	}
	list := c.loads()
	var worst *offered
	for i := range list {
		at := list[i].start
		if slices.ContainsFunc(list[:i], func(x load) bool { return x.start == at }) {
			continue
		}
		o := c.newOffered()
		for _, x := range list {
			if x.start <= at && at < x.stop {
				o.add(&x)
			}
		}
		if o.route(); worst == nil || o.most > worst.most {
			worst = o
		}
	}
	if worst == nil || worst.most <= 1 {
		return
	}
	var advice []Advice
	for _, i := range worst.of {
		w := &c.Config.Workload[i]
		advice = append(advice, Advice{
			Key: "workload." + w.Name + ".load.share", Now: fmt.Sprint(w.Load.Share), Value: fmt.Sprint(math.Floor(w.Load.Share/worst.most*0.95*1000) / 1000),
			Rule: "every link has a load below 1", Source: "Kleinrock, Queueing Systems, 1975: the queue of a server with load 1 or more grows without bound",
		})
	}
	for _, x := range worst.overloaded() {
		c.add(Finding{
			Level: Warning, Kind: KindLoad, Where: c.where(x.ports), Advice: advice,
			What: fmt.Sprintf("%s: the workloads offer %.4gGbps to a link of %s (%.0f %%): its queues grow for as long as the workloads last, and PFC spreads the congestion to their senders",
				c.portNames(x.ports), x.bytes*8/1e9, x.rate, 100*x.over),
			Fix: fmt.Sprintf("lower the load by a factor of %.2f, or add links", x.over),
		})
	}
}

// overload is a kind of ports, such as those from leaves to spines, with its worst load.
type overload struct {
	kind  string
	ports []*surveyedPort
	over  float64 // load of the worst link
	bytes float64 // per second
	rate  units.Rate
}

// overloaded returns the overloaded ports by kind, worst first.
func (o *offered) overloaded() []*overload {
	g := o.c.Graph
	var list []*overload
	for i := range g.Links {
		l := &g.Links[i]
		for way, bytes := range [2]float64{o.link[2*i], o.link[2*i+1]} {
			over := bytes * 8 / float64(l.Rate)
			if over <= 1 {
				continue
			}
			p := &surveyedPort{Node: l.A, Port: l.PortA, Peer: l.B, PeerPort: l.PortB}
			if way == 1 {
				p = &surveyedPort{Node: l.B, Port: l.PortB, Peer: l.A, PeerPort: l.PortA}
			}
			kind := family(g.Names[p.Node]) + " " + family(g.Names[p.Peer])
			k := slices.IndexFunc(list, func(x *overload) bool { return x.kind == kind })
			if k < 0 {
				k = len(list)
				list = append(list, &overload{kind: kind})
			}
			x := list[k]
			if x.ports = append(x.ports, p); over > x.over {
				x.over, x.bytes, x.rate = over, bytes, l.Rate
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *overload) int { return cmp.Compare(b.over, a.over) })
	return list
}

// newOffered returns the loads of idle links.
func (c *checker) newOffered() *offered {
	g := c.Graph
	o := &offered{c: c, edge: make([]int, g.Hosts), down: make([]float64, g.Hosts), up: make([]float64, g.Hosts),
		link: make([]float64, 2*len(g.Links))}
	index := make(map[int]int)
	for _, l := range g.Links {
		if l.A >= g.Hosts {
			continue
		}
		at, known := index[l.B]
		if !known {
			at = len(o.edges)
			index[l.B], o.edges = at, append(o.edges, l.B)
		}
		o.edge[l.A] = at
	}
	o.demand = make([][]float64, len(o.edges))
	for i := range o.demand {
		o.demand[i] = make([]float64, len(o.edges))
	}
	return o
}

// add adds a workload. One end of a flow is drawn in proportion to the rates of hosts: its sender,
// or with toSink its receiver. The other is any permitted host.
func (o *offered) add(x *load) {
	e, toSink := x.env, x.toSink
	o.of = append(o.of, x.index)
	first, second := e.Pairs.From, e.Pairs.To
	partners := e.Pairs.Destinations
	if toSink {
		first, second, partners = second, first, e.Pairs.Sources
	}
	sum := 0.0
	for _, h := range first {
		sum += float64(e.Fabric.Rates[h])
	}
	for _, h := range first {
		n := partners(h)
		if n == 0 || sum == 0 {
			continue
		}
		each := x.bytes * float64(e.Fabric.Rates[h]) / sum / float64(n)
		for _, partner := range second {
			src, dst := h, partner
			if toSink {
				src, dst = partner, h
			}
			if !e.Pairs.Permits(src, dst) {
				continue
			}
			o.up[src] += each
			o.down[dst] += each
			if a, b := o.edge[src], o.edge[dst]; a != b {
				o.demand[b][a] += each
			}
		}
	}
}

// route spreads the demands over equal-cost paths and fills in the loads of links.
func (o *offered) route() {
	g, tables := o.c.Graph, o.c.l.Tables()
	ends := o.c.l.PortEnds()
	at := make(map[[2]int]int)        // direction of a link by node and port
	host := make([]int, len(o.edges)) // by edge: one of its hosts
	for i, l := range g.Links {
		at[[2]int{l.A, l.PortA}], at[[2]int{l.B, l.PortB}] = 2*i, 2*i+1
		if l.A < g.Hosts {
			o.link[2*i], o.link[2*i+1] = o.up[l.A], o.down[l.A]
			host[o.edge[l.A]] = l.A
		}
	}
	amount, waits := make([]float64, g.Nodes()), make([]int, g.Nodes())
	for to, from := range o.demand {
		clear(amount)
		clear(waits)
		for k, v := range from {
			amount[o.edges[k]] += v
		}
		next := func(node int) []uint16 {
			if node == o.edges[to] {
				return nil
			}
			ports := tables[node].Set(uint32(host[to]))
			if o.c.FirstPath && len(ports) > 1 {
				return ports[:1]
			}
			return ports
		}
		// A switch passes its traffic on when all switches before it have done so.
		for node := g.Hosts; node < g.Nodes(); node++ {
			for _, p := range next(node) {
				waits[ends[node][p].To]++
			}
		}
		var ready []int
		for node := g.Hosts; node < g.Nodes(); node++ {
			if waits[node] == 0 {
				ready = append(ready, node)
			}
		}
		for i := 0; i < len(ready); i++ {
			node := ready[i]
			ports := next(node)
			for _, p := range ports {
				e := &ends[node][p]
				part := amount[node] / float64(len(ports))
				o.link[at[[2]int{node, int(p)}]] += part
				amount[e.To] += part
				if waits[e.To]--; waits[e.To] == 0 {
					ready = append(ready, e.To)
				}
			}
		}
	}
	for i := range o.link {
		o.most = max(o.most, o.link[i]*8/float64(g.Links[i/2].Rate))
	}
}
