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

// Real hosts take the place of hosts of the scenario. Their frames enter at the host that
// they stand for, are switched by address to the host behind which the destination was seen,
// and on the way are packets like all others: routed by the tables of the scenario, charged,
// marked, paused and dropped. A frame to many, or to an address that nobody has seen, goes to
// all real hosts along one tree.

// Interface is where a real host is.
type Interface interface {
	// Send sends a frame without its check sequence.
	Send(b []byte) error
	// Poll hands over the frames that have come, and for each when that was, in nanoseconds
	// of the wall, and whether a checksum was left to a network card that does not exist.
	Poll(take func(b []byte, came int64, unfilled bool))
	// Lost is how many frames came that there was no room for.
	Lost() uint64
	Close() error
}

// Outside are the real hosts of a run.
type Outside struct {
	Hosts   map[int]Interface // by node; nil: it is behind another process
	Classes Classes
}

// Classes say which class a foreign frame has.
type Classes struct {
	DSCP  [64]uint8
	PCP   [mmu.Classes]uint8
	Other uint8 // frames that are neither IP nor tagged
	Many  uint8 // frames that go to all, whose copies no upstream can be paused for
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

// bridge is what the nodes of a process know of real hosts.
type bridge struct {
	e       *Engine
	classes Classes
	hosts   []*outsideHost
	outside map[int]Interface
	tree    [][]int      // by node: ports by which a frame to many leaves
	changes []units.Time // at which a link fails or comes back, and the tree changes
	table   addressTable
	f       frame.Frame // scratch
	strange
}

// newBridge checks that real hosts can stand where they are to, and returns the spec of a
// run with them.
func newBridge(e *Engine, spec *sim.Spec, o *Outside) (*bridge, *sim.Spec, error) {
	for i, h := range spec.Hosts {
		if _, out := o.Hosts[i]; !out {
			continue
		}
		if d := h.Flow.Properties().Dialect; d != flowctl.PFC {
			return nil, nil, fmt.Errorf("%s is a real host, and its link speaks %s; allowed: flow control by PFC, or none", h.Name, d)
		}
		if len(h.Receive.Stuck) > 0 || h.Receive.Rate != 0 {
			return nil, nil, fmt.Errorf("%s is a real host; allowed to be stuck or slow: hosts of the scenario", h.Name)
		}
	}
	for i := range spec.Flows.Flow {
		f := &spec.Flows.Flow[i]
		for _, node := range []uint16{f.Src, f.Dst} {
			if _, out := o.Hosts[int(node)]; out {
				return nil, nil, fmt.Errorf("flow %d begins or ends at %s, which is a real host; allowed: flows between hosts of the scenario", i, spec.Hosts[node].Name)
			}
		}
	}
	b := &bridge{e: e, classes: o.Classes, outside: o.Hosts, changes: []units.Time{0}, table: addressTable{at: make(map[frame.MAC]place)}}
	for i := range spec.Cables {
		for _, d := range spec.Cables[i].Down {
			b.changes = append(b.changes, d.From, d.To)
		}
	}
	slices.Sort(b.changes)
	for i, h := range spec.Hosts {
		if _, out := o.Hosts[i]; !out {
			b.table.at[frame.PortMAC(h.Node, 0)] = place{uint16(i), units.Never} // ours, which answer nobody
		}
	}
	own := *spec
	own.Switches = make([]*dataplane.SwitchSpec, len(spec.Switches))
	for i, s := range spec.Switches {
		own.Switches[i] = treeRouted(s)
	}
	return b, &own, nil
}

// treeRouted is a switch whose router leads copies of frames to many.
func treeRouted(s *dataplane.SwitchSpec) *dataplane.SwitchSpec {
	own := *s
	own.Router = func(env route.Env) (route.Router, error) {
		r, err := s.Router(env)
		return treeRouter{r}, err
	}
	return &own
}

// treeRouter leads a copy of a frame to many where its number says.
type treeRouter struct{ route.Router }

// Route implements route.Router.
func (r treeRouter) Route(now units.Time, in int, p *packet.Packet) int {
	if p.Kind() == packet.Foreign && p.Dst == packet.NoNode {
		return int(p.Seq)
	}
	return r.Router.Route(now, in, p)
}

// branches returns the ports of a node by which a frame to many leaves now. Every process
// knows the failures of the scenario, so that all have the same tree at the same time.
func (b *bridge) branches(now units.Time, node int) []int {
	if len(b.changes) > 0 && b.changes[0] <= now {
		for len(b.changes) > 0 && b.changes[0] <= now {
			b.changes = b.changes[1:]
		}
		b.tree = treeOf(b.e.spec, b.outside, now)
	}
	return b.tree[node]
}

// treeOf spans the switches by trees of links that are up, in the order of nodes and cables,
// and returns the ports of each by which real hosts are reached. Two spines make no loop of it.
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
	// visit reports whether there is a real host at or below a node.
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
		if !seen[node] { // failures may have made several parts of the fabric
			visit(node)
		}
	}
	return ports
}

// arrive hands a foreign frame to a node: copies of it to a switch, if it is for many.
func (b *bridge) arrive(now units.Time, n *node, port int, f *carried) {
	if len(f.ext) < 3 || b.e.spec.Hosts[0].Kinds[f.p.Class()] == mmu.Unused {
		b.count("live: a foreign frame without its bytes, or of no class")
		return
	}
	if src := sourceOf(f.ext); !src.Group() && int(f.p.Flow) < len(b.e.spec.Hosts) {
		b.learn(now, src, uint16(f.p.Flow))
	}
	if n.index < len(b.e.spec.Hosts) || f.p.Dst != packet.NoNode {
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

// sourceOf is the address that a packed frame comes from: its bytes 6 to 11.
func sourceOf(ext packet.Ext) (m frame.MAC) {
	for i := range m {
		at := 6 + i
		m[i] = byte(ext[1+at/8] >> (8 * (at % 8)))
	}
	return m
}

func (b *bridge) learn(now units.Time, src frame.MAC, node uint16) {
	if !b.table.learn(now, src, node) {
		b.count("live: from an address for which the table had no room (taken all the same)")
	}
}

// poll takes what has come from real hosts.
func (b *bridge) poll(now units.Time) {
	for _, h := range b.hosts {
		h.poll(now)
	}
}

func (b *bridge) close() error {
	var err error
	for _, h := range b.hosts {
		if lost := h.line.Lost(); lost > 0 {
			b.add("live: more of a real host than could be taken", lost)
		}
		err = errors.Join(err, h.line.Close())
	}
	return err
}

// addTo adds what was not taken to other such counts.
func (b *bridge) addTo(all map[string]uint64) map[string]uint64 {
	if len(b.strange) == 0 {
		return all
	}
	sum := maps.Clone(map[string]uint64(b.strange))
	for why, n := range all {
		sum[why] += n
	}
	return sum
}

// addressTable says behind which host an address is.
type addressTable struct {
	at    map[frame.MAC]place
	swept units.Time
}

type place struct {
	node uint16
	seen units.Time // Never: it stays there
}

// Bounds of a table: as many addresses as a small switch has, and the ageing time of IEEE
// 802.1Q 8.8.3.
const (
	maxAddresses = 4096
	addressAge   = 300 * units.Second
	sweepEvery   = units.Second
)

// learn notes where an address was seen; false: there is no room for it.
func (t *addressTable) learn(now units.Time, src frame.MAC, node uint16) bool {
	was, known := t.at[src]
	if known && was.seen == units.Never {
		return true
	}
	if !known && len(t.at) >= maxAddresses {
		if now < t.swept+sweepEvery {
			return false
		}
		t.swept = now
		maps.DeleteFunc(t.at, func(_ frame.MAC, p place) bool { return p.seen != units.Never && now-p.seen > addressAge })
		if len(t.at) >= maxAddresses {
			return false
		}
	}
	t.at[src] = place{node, now}
	return true
}

// find returns the host behind which an address is.
func (t *addressTable) find(now units.Time, dst frame.MAC) (uint16, bool) {
	p, ok := t.at[dst]
	return p.node, ok && (p.seen == units.Never || now-p.seen <= addressAge)
}
