package layout

import (
	"sort"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/yaml"
)

// NICs describes the hosts. A flow names its sender's transport.
func (l *Layout) NICs(t *Traffic) ([]*dataplane.NICSpec, error) {
	rtt := l.GivenRTT()
	ways := l.Transports()
	var sent []dataplane.Transport
	for _, h := range ways {
		way, err := l.Transport(h, rtt)
		if err != nil {
			return nil, err
		}
		sent = append(sent, way)
	}
	answers := make([][]dataplane.Transport, len(l.OfHosts)) // by group of the receiver
	for to, h := range l.OfHosts {
		for i, way := range sent {
			answers[to] = append(answers[to], l.answer(way, ways[i], h))
		}
	}
	starts := make([][]uint32, l.Graph.Hosts)
	for i := range t.Flows.Flow {
		if src := t.Flows.Flow[i].Src; !t.Flows.Waits(i) {
			starts[src] = append(starts[src], uint32(i))
		}
	}
	for _, h := range ways {
		if err := h.checkTimeouts(rtt); err != nil {
			return nil, l.OfHost(h, yaml.Or(err, l.Config.LongestDelay(), "topology"))
		}
	}
	var list []*dataplane.NICSpec
	for node := range l.Graph.Hosts {
		e := &l.PortEnds()[node][0]
		port := l.PortAt(e.To, e.Port) // the switch at the other end
		scheme, err := port.Flow()
		if err != nil {
			return nil, err
		}
		scheduler, err := l.Scheduler(&port.Scheduler, e.Rate)
		if err != nil {
			return nil, err
		}
		list = append(list, &dataplane.NICSpec{
			Name: l.Graph.Names[node], Node: uint16(node), Port: l.PortSpecs(node)[0], Flow: scheme, Scheduler: scheduler,
			Kinds: l.Kinds, Transports: answers[l.HostAt(node).Group], BaseRTT: rtt, Receive: l.Receive(node),
			Flows: t.Flows, Starts: starts[node], Scan: l.Config.Compat.NIC == "scan",
		})
	}
	return list, nil
}

// Receive describes the receive side of a host: its speed and its stuck times.
func (l *Layout) Receive(node int) dataplane.ReceiveSpec {
	cfg := &l.HostAt(node).Receive
	spec := dataplane.ReceiveSpec{Xoff: cfg.Xoff}
	for _, f := range l.Config.Faults {
		if f.Stuck && f.Host == l.Graph.Names[node] {
			spec.Stuck = append(spec.Stuck, units.Interval{From: f.At, To: f.At + f.For})
		}
	}
	// A host looks at its stuck times one after the other.
	sort.Slice(spec.Stuck, func(i, j int) bool { return spec.Stuck[i].From < spec.Stuck[j].From })
	slow := len(cfg.Hosts) == 0
	for _, h := range cfg.Hosts {
		slow = slow || h == l.Graph.Names[node]
	}
	if slow {
		spec.Rate, spec.Buffer = cfg.Rate, cfg.Buffer
	}
	return spec
}
