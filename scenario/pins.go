package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// This file is about flows with routes of their own: those of routing.pinned, and
// those that a list of flows states.

// flowWay is a route of its own that the data of a flow takes, or what comes back
// for it.
type flowWay struct {
	flow uint32
	back bool
	via  []workload.Hop
}

// addPins gives pinned flows their own next hops: those of the pins that match,
// then what the list of flows says.
func (b *builder) addPins(tables []*route.Table) {
	if b.out.Flows == nil {
		return // Validate looks at routes before there are flows
	}
	for _, p := range b.cfg.Routing.Pinned {
		from, to := b.members(p.From), b.members(p.To)
		via, _, _ := b.switchesOf(p.Via) // Validate has seen it
		for i := range b.out.Flows.Flow {
			if f := &b.out.Flows.Flow[i]; from[f.Src] && to[f.Dst] {
				b.pin(tables, f, uint32(i)<<1, via, int(f.Dst))
			}
		}
	}
	for _, w := range b.ways {
		f := &b.out.Flows.Flow[w.flow]
		if w.back {
			b.pin(tables, f, w.flow<<1|1, w.via, int(f.Src))
		} else {
			b.pin(tables, f, w.flow<<1, w.via, int(f.Dst))
		}
	}
}

// pin gives one direction of a flow (see route.PinKey) its next hops.
func (b *builder) pin(tables []*route.Table, f *dataplane.Flow, key uint32, via []workload.Hop, end int) {
	f.Pinned = true
	for k, h := range via {
		port := int(h.Port)
		switch {
		case port >= 0:
		case k+1 < len(via):
			port = b.portTo(int(h.Node), int(via[k+1].Node))
		default:
			port = b.portTo(int(h.Node), end)
		}
		t := tables[h.Node]
		if t.Pinned == nil {
			t.Pinned = make(map[uint32]uint16)
		}
		t.Pinned[key] = uint16(port)
	}
}

// members returns which hosts a pattern means.
func (b *builder) members(pattern string) []bool {
	in := make([]bool, b.graph.Hosts)
	hosts, _, _ := b.graph.HostsLike([]string{pattern}) // Validate has seen it
	for _, h := range hosts {
		in[h] = true
	}
	return in
}

// checkPin checks that a pinned route is a way from all of its hosts to all others.
func (b *builder) checkPin(path string, p *Pin) error {
	from, _, err := b.graph.HostsLike([]string{p.From})
	if err != nil {
		return at(path+".from", err)
	}
	to, _, err := b.graph.HostsLike([]string{p.To})
	switch {
	case err != nil:
		return at(path+".to", err)
	case len(from) == 1 && len(to) == 1 && from[0] == to[0]:
		return atf(path+".to", "a host needs no route to itself; allowed: another host")
	case len(p.Via) == 0:
		return atf(path+".via", "the route has no switch; allowed: the switches from %s to %s in order", p.From, p.To)
	}
	nodes, i, err := b.switchesOf(p.Via)
	if err != nil {
		return at(fmt.Sprintf("%s.via[%d]", path, i), err)
	}
	for _, h := range from {
		if err := b.checkBegin(nodes, h); err != nil {
			return at(path+".via[0]", err)
		}
	}
	for _, h := range to {
		if err := b.checkEnd(nodes, h); err != nil {
			return at(path+".via", err)
		}
	}
	return nil
}

// switchesOf looks up a route by names. A mistake is at one of them.
func (b *builder) switchesOf(via []string) (hops []workload.Hop, place int, err error) {
	seen := make(map[int32]bool, len(via))
	for i, name := range via {
		h, err := b.hopNamed(name)
		switch {
		case err != nil:
			return nil, i, err
		case seen[h.Node]:
			return nil, i, fmt.Errorf("%s is on the route already; allowed: each switch once", b.graph.Names[h.Node])
		}
		if i > 0 {
			if err := b.checkHop(hops[i-1], int(h.Node)); err != nil {
				return nil, i, err
			}
		}
		seen[h.Node] = true
		hops = append(hops, h)
	}
	return hops, 0, nil
}

// hopNamed reads SWITCH or SWITCH.portN.
func (b *builder) hopNamed(name string) (workload.Hop, error) {
	node, number, byPort := strings.Cut(name, ".port")
	n := b.graph.Node(node)
	if n < b.graph.Hosts {
		return workload.Hop{}, fmt.Errorf("there is no switch %q; allowed: %s", node, topo.Brief(b.graph.Names[b.graph.Hosts:]))
	}
	if !byPort {
		return workload.Hop{Node: int32(n), Port: -1}, nil
	}
	ports := len(b.portEnds()[n])
	port, err := strconv.Atoi(number)
	if err != nil || port < 0 || port >= ports {
		return workload.Hop{}, fmt.Errorf("%s has no port %q; allowed: %s.port0 to %s.port%d", node, number, node, node, ports-1)
	}
	return workload.Hop{Node: int32(n), Port: int32(port)}, nil
}

// checkHop checks that a hop of a route leads to a node.
func (b *builder) checkHop(h workload.Hop, next int) error {
	here := b.graph.Names[h.Node]
	switch {
	case h.Port >= 0 && b.portEnds()[h.Node][h.Port].to != next:
		return fmt.Errorf("port %d of %s does not lead to %s; allowed: a port that does, or %s without one", h.Port, here, b.graph.Names[next], here)
	case b.portTo(int(h.Node), next) < 0:
		return fmt.Errorf("no link leads from %s to %s; allowed: a neighbour of %s", here, b.graph.Names[next], here)
	}
	return nil
}

// checkBegin checks that a host is connected to the begin of a route.
func (b *builder) checkBegin(hops []workload.Hop, host int) error {
	if first := int(hops[0].Node); b.portTo(first, host) < 0 {
		return fmt.Errorf("no link leads from %s to %s; allowed: a neighbour of %s", b.graph.Names[host], b.graph.Names[first], b.graph.Names[host])
	}
	return nil
}

// checkEnd does the same for the end of a route.
func (b *builder) checkEnd(hops []workload.Hop, host int) error {
	last := hops[len(hops)-1]
	if b.portTo(int(last.Node), host) < 0 {
		return fmt.Errorf("the route ends at %s, which has no link to %s; allowed: switches that lead to it", b.graph.Names[last.Node], b.graph.Names[host])
	}
	return b.checkHop(last, host)
}

// flowRoute looks up the route of a single flow.
func (b *builder) flowRoute(key string, src, dst int32, via []string) ([]workload.Hop, error) {
	if len(via) > telemetry.MaxHops {
		return nil, &workload.KeyError{Key: key, Err: fmt.Errorf("there are %d switches; allowed: at most %d", len(via), telemetry.MaxHops)}
	}
	nodes, i, err := b.switchesOf(via)
	if err != nil {
		return nil, &workload.KeyError{Key: fmt.Sprintf("%s[%d]", key, i), Err: err}
	}
	if err := b.checkBegin(nodes, int(src)); err != nil {
		return nil, &workload.KeyError{Key: key + "[0]", Err: err}
	}
	if err := b.checkEnd(nodes, int(dst)); err != nil {
		return nil, &workload.KeyError{Key: key, Err: err}
	}
	return nodes, nil
}
