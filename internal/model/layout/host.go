package layout

import (
	"sort"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/job"
)

// NICs returns the specs of all hosts. Flows refer to transports of their senders.
func (l *Layout) NICs(t *Traffic) ([]*dataplane.NICSpec, error) {
	rtt := l.GivenRTT()
	settings := l.Transports()
	var sent []dataplane.Transport
	for _, h := range settings {
		transport, err := l.Transport(h, rtt)
		if err != nil {
			return nil, err
		}
		sent = append(sent, transport)
	}
	received := make([][]dataplane.Transport, len(l.OfHosts)) // by group of the receiver
	for to, h := range l.OfHosts {
		for i, transport := range sent {
			received[to] = append(received[to], l.receivedBy(transport, settings[i], h))
		}
	}
	starts := make([][]uint32, l.Graph.Hosts)
	for i := range t.Flows.Flow {
		if src := t.Flows.Flow[i].Src; !t.Flows.Waits(i) {
			starts[src] = append(starts[src], uint32(i))
		}
	}
	jobs := make([][]*job.Host, l.Graph.Hosts)
	for _, j := range t.Jobs {
		for _, h := range j.Prepare() {
			jobs[h.ID] = append(jobs[h.ID], h)
		}
	}
	for _, h := range settings {
		if err := h.checkTimeouts(rtt); err != nil {
			return nil, l.OfHost(h, yaml.Or(err, l.Config.LongestDelay(), "topology"))
		}
	}
	var list []*dataplane.NICSpec
	for node := range l.Graph.Hosts {
		e := &l.PortEnds()[node][0]
		port := l.PortAt(e.To, e.Port) // the peer is a switch
		scheme, err := port.Flow()
		if err != nil {
			return nil, err
		}
		scheduler, err := l.Scheduler(&port.Scheduler, e.Rate)
		if err != nil {
			return nil, err
		}
		list = append(list, &dataplane.NICSpec{
			Name: l.Graph.Names[node], Node: uint32(node), Port: l.PortSpecs(node)[0], Flow: scheme, Scheduler: scheduler,
			Kinds: l.Kinds, Transports: received[l.HostAt(node).Group], BaseRTT: rtt, Receive: l.Receive(node),
			Flows: t.Flows, Starts: starts[node], Jobs: jobs[node], Scan: l.Config.Compat.NIC == "scan",
		})
	}
	return list, nil
}

// Receive returns the receive spec of a host: its rate, its buffer and when it is stuck.
func (l *Layout) Receive(node int) dataplane.ReceiveSpec {
	cfg := &l.HostAt(node).Receive
	spec := dataplane.ReceiveSpec{Xoff: cfg.Xoff}
	for _, f := range l.Config.Faults {
		if f.Stuck && f.Host == l.Graph.Names[node] {
			spec.Stuck = append(spec.Stuck, units.Interval{From: f.At, To: f.At + f.For})
		}
	}
	// The NIC processes stuck intervals in order.
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
