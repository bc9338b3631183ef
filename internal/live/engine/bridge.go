package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/sim"
)

// Real hosts replace hosts of the scenario. Their frames enter the fabric at the replaced host
// and are forwarded by MAC address to the host behind which the destination was seen. Inside
// the fabric they are packets like all others: routed by the tables of the scenario, stored,
// marked, paused and dropped. A frame to a group or to an unknown address goes to all real
// hosts along one tree.

// Interface is the network interface of a real host.
type Interface interface {
	sender
	// Poll calls take for at most most received frames. Came is the wall clock time of arrival in
	// nanoseconds. Unfilled means that the sender left the checksum to its network card.
	Poll(most int, take func(b []byte, came int64, unfilled bool))
	// Lost returns the number of received frames that were dropped for lack of room.
	Lost() uint64
	Close() error
}

// Outside are the real hosts of a run.
type Outside struct {
	Hosts   map[int]Interface // by node; nil: behind another process
	Classes Classes
}

// Classes maps foreign frames to traffic classes.
type Classes struct {
	DSCP  [64]uint8
	PCP   [mmu.Classes]uint8
	Other uint8 // frames that are neither IP nor tagged
	Many  uint8 // frames to all hosts; preferably lossy, because copies cannot be paused
}

// of returns the class of a frame.
func (c *Classes) of(h *frame.Headers, many bool) uint8 {
	switch {
	case many:
		return c.Many
	case h.IP != 0:
		return c.DSCP[h.DSCP]
	case h.Tagged:
		return c.PCP[h.PCP]
	}
	return c.Other
}

// bridge connects the nodes of a process to real hosts.
type bridge struct {
	e       *Engine
	classes Classes
	hosts   []*outsideHost
	outside map[int]Interface
	tree    [][]int      // by node: egress ports of a frame to all hosts
	changes []units.Time // when a link fails or recovers, and the tree changes
	table   addressTable
	came    units.Time  // last frame of a real host
	f       frame.Frame // scratch
	rejected
}

// newBridge checks that the real hosts can replace hosts of the scenario, and returns the spec
// of a run with them.
func newBridge(e *Engine, spec *sim.Spec, o *Outside) (*bridge, *sim.Spec, error) {
	for i, h := range spec.Hosts {
		if _, out := o.Hosts[i]; !out {
			continue
		}
		if d := h.Flow.Properties().Dialect; d != flowctl.PFC {
			return nil, nil, fmt.Errorf("%s is a real host, but its link uses %s (expected flow control by PFC, or none)", h.Name, d)
		}
		if len(h.Receive.Stuck) > 0 || h.Receive.Rate != 0 {
			return nil, nil, fmt.Errorf("%s is a real host, so it cannot be stuck or slow (expected a host of the scenario)", h.Name)
		}
	}
	for i := range spec.Flows.Flow {
		f := &spec.Flows.Flow[i]
		for _, node := range []uint32{f.Src, f.Dst} {
			if _, out := o.Hosts[int(node)]; out {
				return nil, nil, fmt.Errorf("flow %d starts or ends at %s, which is a real host (expected flows between hosts of the scenario)", i, spec.Hosts[node].Name)
			}
		}
	}
	b := &bridge{e: e, classes: o.Classes, outside: o.Hosts, changes: []units.Time{0}, table: addressTable{at: make(map[frame.MAC]seenAt)}}
	for i := range spec.Cables {
		for _, d := range spec.Cables[i].Down {
			b.changes = append(b.changes, d.From, d.To)
		}
	}
	slices.Sort(b.changes)
	for i, h := range spec.Hosts {
		if _, out := o.Hosts[i]; !out {
			b.table.at[frame.PortMAC(h.Node, 0)] = seenAt{uint32(i), units.Never} // simulated hosts do not answer
		}
	}
	own := *spec
	own.Switches = make([]*dataplane.SwitchSpec, len(spec.Switches))
	for i, s := range spec.Switches {
		own.Switches[i] = treeRouted(s)
	}
	return b, &own, nil
}

// treeRouted returns a switch spec whose router also forwards copies of frames to all hosts.
func treeRouted(s *dataplane.SwitchSpec) *dataplane.SwitchSpec {
	own := *s
	own.Router = func(env route.Env) (route.Router, error) {
		r, err := s.Router(env)
		return treeRouter{r}, err
	}
	return &own
}

// treeRouter sends a copy of a frame to all hosts by the port in its Seq.
type treeRouter struct{ route.Router }

// Route implements route.Router.
func (r treeRouter) Route(now units.Time, in int, p *packet.Packet) int {
	if p.Kind() == packet.Foreign && p.Dst() == packet.NoNode {
		return int(p.Seq)
	}
	return r.Router.Route(now, in, p)
}

// branches returns the egress ports of a frame to all hosts at a node. Every process knows the
// link failures of the scenario, so all have the same tree at the same time.
func (b *bridge) branches(now units.Time, node int) []int {
	if len(b.changes) > 0 && b.changes[0] <= now {
		for len(b.changes) > 0 && b.changes[0] <= now {
			b.changes = b.changes[1:]
		}
		b.tree = treeOf(b.e.spec, b.outside, now)
	}
	return b.tree[node]
}

// treeOf returns, for each node, the ports of a spanning tree of the links that are up, without
// branches that lead to no real host. It visits nodes and cables in order.
func treeOf(spec *sim.Spec, outside map[int]Interface, now units.Time) [][]int {
	n := len(spec.Hosts) + len(spec.Switches)
	type edge struct{ here, peer sim.End }
	edges := make([][]edge, n)
	for i := range spec.Cables {
		c := &spec.Cables[i]
		if slices.ContainsFunc(c.Down, func(d units.Interval) bool { return d.From <= now && now < d.To }) {
			continue
		}
		edges[c.A.Node] = append(edges[c.A.Node], edge{c.A, c.B})
		edges[c.B.Node] = append(edges[c.B.Node], edge{c.B, c.A})
	}
	ports, seen := make([][]int, n), make([]bool, n)
	// visit reports whether a node is a real host or leads to one.
	var visit func(node int) bool
	visit = func(node int) bool {
		seen[node] = true
		if node < len(spec.Hosts) {
			_, out := outside[node]
			return out
		}
		found := false
		for _, e := range edges[node] {
			if !seen[e.peer.Node] && visit(e.peer.Node) {
				ports[node] = append(ports[node], e.here.Port)
				ports[e.peer.Node] = append(ports[e.peer.Node], e.peer.Port)
				found = true
			}
		}
		return found
	}
	for node := len(spec.Hosts); node < n; node++ {
		if !seen[node] { // failures may have split the fabric
			visit(node)
		}
	}
	return ports
}

// arrive delivers a foreign frame to a node. A switch gets one copy per branch of a frame to all
// hosts.
func (b *bridge) arrive(now units.Time, n *node, port int, f *carried) {
	if len(f.ext) < 3 || b.e.spec.Hosts[0].Kinds[f.p.Class()] == mmu.Unused {
		b.count("live: foreign frame without contents, or with an unused class")
		return
	}
	if src := frame.ForeignSource(f.ext); !src.Group() && int(f.p.Flow) < len(b.e.spec.Hosts) {
		b.learn(now, src, f.p.Flow)
	}
	if n.index < len(b.e.spec.Hosts) || f.p.Dst() != packet.NoNode {
		b.e.net.Arrive(now, n.index, port, &f.p, f.ext)
		return
	}
	for _, out := range b.branches(now, n.index) {
		if out == port {
			continue
		}
		p := f.p
		p.Seq = uint32(out)
		b.e.net.Arrive(now, n.index, port, &p, f.ext)
	}
}

func (b *bridge) learn(now units.Time, src frame.MAC, node uint32) {
	if !b.table.learn(now, src, node) {
		b.count("live: address table full (frame accepted)")
	}
}

// poll processes the frames received from real hosts.
func (b *bridge) poll(now units.Time) {
	for _, h := range b.hosts {
		// An engine that is behind leaves frames in the kernel's buffer: taking them only to drop
		// them costs time.
		most := maxBatch
		if h.waiting > maxBatch {
			most = 1
		}
		h.now = now
		h.line.Poll(most, h.take)
	}
}

// flush sends frames to real hosts and reports whether any were waiting.
func (b *bridge) flush() bool {
	waited := false
	for _, h := range b.hosts {
		waited = waited || h.out.n > 0
		h.out.flush(h.line)
	}
	return waited
}

func (b *bridge) close() error {
	var err error
	for _, h := range b.hosts {
		if lost := h.line.Lost(); lost > 0 {
			b.add("live: receive buffer of a real host full", lost)
		}
		err = errors.Join(err, h.line.Close())
	}
	return err
}

// addTo returns the sum of the counts of rejected frames.
func (b *bridge) addTo(all map[string]uint64) map[string]uint64 {
	if len(b.rejected) == 0 {
		return all
	}
	sum := maps.Clone(map[string]uint64(b.rejected))
	for why, n := range all {
		sum[why] += n
	}
	return sum
}

// addressTable maps addresses to the hosts behind which they were seen.
type addressTable struct {
	at    map[frame.MAC]seenAt
	swept units.Time
}

type seenAt struct {
	node uint32
	seen units.Time // Never: permanent
}

// Limits of a table: the size of a small switch, and the ageing time of IEEE 802.1Q 8.8.3.
const (
	maxAddresses = 4096
	addressAge   = 300 * units.Second
	sweepEvery   = units.Second
)

// learn records where an address was seen; it returns false if the table is full.
func (t *addressTable) learn(now units.Time, src frame.MAC, node uint32) bool {
	was, known := t.at[src]
	if known && (was.seen == units.Never || was.node == node && now-was.seen < sweepEvery) {
		return true
	}
	if !known && len(t.at) >= maxAddresses {
		if now < t.swept+sweepEvery {
			return false
		}
		t.swept = now
		maps.DeleteFunc(t.at, func(_ frame.MAC, p seenAt) bool { return p.seen != units.Never && now-p.seen > addressAge })
		if len(t.at) >= maxAddresses {
			return false
		}
	}
	t.at[src] = seenAt{node, now}
	return true
}

// find returns the host behind which an address was seen.
func (t *addressTable) find(now units.Time, dst frame.MAC) (uint32, bool) {
	p, ok := t.at[dst]
	return p.node, ok && (p.seen == units.Never || now-p.seen <= addressAge)
}
