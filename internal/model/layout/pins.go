package layout

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Way is a pinned route for the data packets of a flow, or for its replies.
type Way struct {
	Flow uint32
	Back bool
	Via  []workload.Hop
}

// addPins adds the next hops of pinned flows: from routing.pinned, then from lists of flows.
func (l *Layout) addPins(t *Traffic, tables []*route.Table) {
	for _, p := range l.Config.Routing.Pinned {
		from, to := l.members(p.From), l.members(p.To)
		via, _, _ := l.SwitchesOf(p.Via) // valid, see CheckPin
		for i := range t.Flows.Flow {
			if f := &t.Flows.Flow[i]; from[f.Src] && to[f.Dst] {
				l.pin(tables, f, uint32(i)<<1, via, int(f.Dst))
			}
		}
	}
	for _, w := range t.Ways {
		f := &t.Flows.Flow[w.Flow]
		if w.Back {
			l.pin(tables, f, w.Flow<<1|1, w.Via, int(f.Src))
		} else {
			l.pin(tables, f, w.Flow<<1, w.Via, int(f.Dst))
		}
	}
}

// pin adds the next hops of one direction of a flow; see route.PinKey.
func (l *Layout) pin(tables []*route.Table, f *dataplane.Flow, key uint32, via []workload.Hop, end int) {
	f.Pinned = true
	for k, h := range via {
		port := int(h.Port)
		switch {
		case port >= 0:
		case k+1 < len(via):
			port = l.PortTo(int(h.Node), int(via[k+1].Node))
		default:
			port = l.PortTo(int(h.Node), end)
		}
		if tables[h.Node].Pinned == nil { // the table is shared
			own := *tables[h.Node]
			own.Pinned = make(map[uint32]uint16)
			tables[h.Node] = &own
		}
		tables[h.Node].Pinned[key] = uint16(port)
	}
}

// members returns which hosts match a pattern.
func (l *Layout) members(pattern string) []bool {
	in := make([]bool, l.Graph.Hosts)
	hosts, _, _ := l.Graph.HostsLike([]string{pattern}) // valid, see CheckPin
	for _, h := range hosts {
		in[h] = true
	}
	return in
}

// CheckPin checks that a pinned route connects all of its source and destination hosts.
func (l *Layout) CheckPin(path string, p *scenario.Pin) error {
	from, _, err := l.Graph.HostsLike([]string{p.From})
	if err != nil {
		return yaml.At(path+".from", err)
	}
	to, _, err := l.Graph.HostsLike([]string{p.To})
	switch {
	case err != nil:
		return yaml.At(path+".to", err)
	case len(from) == 1 && len(to) == 1 && from[0] == to[0]:
		return yaml.Atf(path+".to", "a host needs no route to itself (expected another host)")
	case len(p.Via) == 0:
		return yaml.Atf(path+".via", "the route has no switch (expected the switches from %s to %s in order)", p.From, p.To)
	}
	nodes, i, err := l.SwitchesOf(p.Via)
	if err != nil {
		return yaml.At(fmt.Sprintf("%s.via[%d]", path, i), err)
	}
	for _, h := range from {
		if err := l.checkBegin(nodes, h); err != nil {
			return yaml.At(path+".via[0]", err)
		}
	}
	for _, h := range to {
		if err := l.checkEnd(nodes, h); err != nil {
			return yaml.At(path+".via", err)
		}
	}
	return nil
}

// SwitchesOf looks up the hops of a route by name. If it fails, bad is the index of the wrong
// name.
func (l *Layout) SwitchesOf(via []string) (hops []workload.Hop, bad int, err error) {
	seen := make(map[int32]bool, len(via))
	for i, name := range via {
		h, err := l.hopNamed(name)
		switch {
		case err != nil:
			return nil, i, err
		case seen[h.Node]:
			return nil, i, fmt.Errorf("%s is on the route twice (expected each switch once)", l.Graph.Names[h.Node])
		}
		if i > 0 {
			if err := l.checkHop(hops[i-1], int(h.Node)); err != nil {
				return nil, i, err
			}
		}
		seen[h.Node] = true
		hops = append(hops, h)
	}
	return hops, 0, nil
}

// hopNamed parses SWITCH or SWITCH.portN.
func (l *Layout) hopNamed(name string) (workload.Hop, error) {
	node, number, byPort := strings.Cut(name, ".port")
	n := l.Graph.Node(node)
	if n < l.Graph.Hosts {
		return workload.Hop{}, fmt.Errorf("there is no switch %q (allowed: %s)", node, topo.Brief(l.Graph.Names[l.Graph.Hosts:]))
	}
	if !byPort {
		return workload.Hop{Node: int32(n), Port: -1}, nil
	}
	ports := len(l.PortEnds()[n])
	port, err := strconv.Atoi(number)
	if err != nil || port < 0 || port >= ports {
		return workload.Hop{}, fmt.Errorf("%s has no port %q (expected %s.port0 to %s.port%d)", node, number, node, node, ports-1)
	}
	return workload.Hop{Node: int32(n), Port: int32(port)}, nil
}

// checkHop checks that a hop of a route leads to the next node.
func (l *Layout) checkHop(h workload.Hop, next int) error {
	here := l.Graph.Names[h.Node]
	switch {
	case h.Port >= 0 && l.PortEnds()[h.Node][h.Port].To != next:
		return fmt.Errorf("port %d of %s does not lead to %s (expected a port that does, or %s without a port)", h.Port, here,
			l.Graph.Names[next], here)
	case l.PortTo(int(h.Node), next) < 0:
		return fmt.Errorf("no link leads from %s to %s (expected a neighbour of %s)", here, l.Graph.Names[next], here)
	}
	return nil
}

// checkBegin checks that a host is connected to the first switch of a route.
func (l *Layout) checkBegin(hops []workload.Hop, host int) error {
	if first := int(hops[0].Node); l.PortTo(first, host) < 0 {
		return fmt.Errorf("no link leads from %s to %s (expected a neighbour of %s)", l.Graph.Names[host], l.Graph.Names[first],
			l.Graph.Names[host])
	}
	return nil
}

// checkEnd checks that a host is connected to the last switch of a route.
func (l *Layout) checkEnd(hops []workload.Hop, host int) error {
	last := hops[len(hops)-1]
	if l.PortTo(int(last.Node), host) < 0 {
		return fmt.Errorf("the route ends at %s, which has no link to %s (expected a route that reaches it)",
			l.Graph.Names[last.Node], l.Graph.Names[host])
	}
	return l.checkHop(last, host)
}

// flowRoute looks up and checks the route of a single flow.
func (l *Layout) flowRoute(key string, src, dst int32, via []string) ([]workload.Hop, error) {
	if len(via) > telemetry.MaxHops {
		return nil, &workload.KeyError{Key: key, Err: fmt.Errorf("the route has %d switches (expected at most %d)", len(via), telemetry.MaxHops)}
	}
	nodes, i, err := l.SwitchesOf(via)
	if err != nil {
		return nil, &workload.KeyError{Key: fmt.Sprintf("%s[%d]", key, i), Err: err}
	}
	if err := l.checkBegin(nodes, int(src)); err != nil {
		return nil, &workload.KeyError{Key: key + "[0]", Err: err}
	}
	if err := l.checkEnd(nodes, int(dst)); err != nil {
		return nil, &workload.KeyError{Key: key, Err: err}
	}
	return nodes, nil
}
