// Package sim runs the nodes of a fabric in simulated time, for package run. It has two engines
// with identical results: the fast one (node windows) and the oracle (one global heap), which
// checks the fast one.
package sim

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/route"
)

// Spec describes a run: nodes, cables, flows and the stop rule. Hosts are nodes 0 to
// len(Hosts)-1; switches follow.
type Spec struct {
	Hosts    []*dataplane.NICSpec
	Switches []*dataplane.SwitchSpec
	Cables   []Cable
	Flows    *dataplane.Flows
	Routes   []RouteChange
	Samples  []Sample
	Seed     uint64
	// InsertionOrder executes simultaneous events in the order in which they were
	// scheduled, as ns-3 does (see insertion.go). By default, kind and port decide.
	InsertionOrder bool
	// NoticeDelay is the shortest time from the sending of a notice of a job until it takes
	// effect; 0: no job sends notices.
	NoticeDelay units.Time
	// MinFrame is the size of the smallest frame that any node sends.
	MinFrame units.Bytes
	// Until is the latest end of the run. The run ends earlier, Linger after the first
	// multiple of CheckPeriod at which Done reports true (nil: never). The result of Done
	// may change only after events of nodes and at the times in DoneAt, which is sorted:
	// the engine does not call it in between.
	Until  units.Time
	Done   func(now units.Time) bool
	DoneAt []units.Time
	Linger units.Time
	// WatchDeadlocks searches for deadlocks at every multiple of CheckPeriod.
	// StopAtDeadlock also ends the run at the first one. By default, the run is searched
	// once, at its end.
	WatchDeadlocks, StopAtDeadlock bool
	LogPauses                      bool // keep every pause and its cause
}

// CheckPeriod is the interval of simulated time at which the engine checks the stop rule.
// It is fixed, so that results do not depend on the window length.
const CheckPeriod = 10 * units.Microsecond

// Cable is a full-duplex link.
type Cable struct {
	A, B       End
	Rate       units.Rate
	AtoB, BtoA units.Time // propagation delay plus pipeline latency of the receiving switch
	Overhead   units.Bytes
	Down       []units.Interval // frames on the wire at these times are lost
	Corrupt    []Corruption
}

// End is one end of a cable.
type End struct{ Node, Port int }

// Corruption loses frames at random during an interval.
type Corruption struct {
	units.Interval
	Rate float64 // share of frames that are lost
}

// RouteChange installs a new routing table at a switch.
type RouteChange struct {
	At    units.Time
	Node  int
	Table *route.Table
}

// endTime returns the end of a run that would end at until, after checking Done at now.
func (s *Spec) endTime(now, until units.Time) units.Time {
	if until == s.Until && s.Done != nil && s.Done(now) {
		return min(until, now+s.Linger)
	}
	return until
}

// nextDoneCheck returns the first check after now at which the result of Done may change
// without an event, or Never.
func (s *Spec) nextDoneCheck(now units.Time) units.Time {
	for _, at := range s.DoneAt {
		if at > now {
			return (at + CheckPeriod - 1) / CheckPeriod * CheckPeriod
		}
	}
	return units.Never
}

// nodeCount returns the number of nodes.
func (s *Spec) nodeCount() int { return len(s.Hosts) + len(s.Switches) }

// portCount returns the number of ports of a node.
func (s *Spec) portCount(node int) int {
	if node < len(s.Hosts) {
		return 1
	}
	return len(s.Switches[node-len(s.Hosts)].Ports)
}

// port returns the description of the port at an end of a cable.
func (s *Spec) port(e End) *link.Port {
	if e.Node < len(s.Hosts) {
		return &s.Hosts[e.Node].Port
	}
	return &s.Switches[e.Node-len(s.Hosts)].Ports[e.Port]
}

// lookahead returns the shortest time between the start of a transmission and its arrival
// at the peer, over all cables.
func (s *Spec) lookahead() (units.Time, error) {
	l := units.Never
	for i := range s.Cables {
		c := &s.Cables[i]
		if c.AtoB <= 0 || c.BtoA <= 0 {
			return 0, fmt.Errorf("cable %d has no delay (expected more than 0s in both directions)", i)
		}
		l = min(l, min(c.AtoB, c.BtoA)+s.port(c.A).TxTime(c.Rate, s.MinFrame))
	}
	if s.NoticeDelay > 0 {
		l = min(l, s.NoticeDelay)
	}
	return l, nil
}

// change is a timed change at one node: of the state of a link, or of its routes.
type change struct {
	at    units.Time
	port  int
	up    bool
	table *route.Table // new routes; nil for a link change
}

// changes returns the timed changes of each node, in order.
func (s *Spec) changes() [][]change {
	all := make([][]change, s.nodeCount())
	for i := range s.Cables {
		c := &s.Cables[i]
		for _, d := range c.Down {
			for _, e := range [2]End{c.A, c.B} {
				all[e.Node] = append(all[e.Node], change{at: d.From, port: e.Port}, change{at: d.To, port: e.Port, up: true})
			}
		}
	}
	for _, r := range s.Routes {
		all[r.Node] = append(all[r.Node], change{at: r.At, table: r.Table})
	}
	for _, list := range all {
		sortChanges(list)
	}
	return all
}

// dataPlane is the interface of switches and NICs to the engines.
type dataPlane interface {
	Probe() probe.Node
	Start(now units.Time)
	Wake(now units.Time)
	TxDone(now units.Time, port int) (pending bool)
	LinkChanged(now units.Time, port int, up bool)
	PortStats(port int, now units.Time) dataplane.PortStats
	Lose(now units.Time, port int, p *packet.Packet)
}

// nodes builds the data planes of a run; driver returns the driver of each node.
func (s *Spec) nodes(driver func(node int) dataplane.NICDriver) ([]*dataplane.NIC, []*dataplane.Switch, *deadlocks, error) {
	spec, d := s.watched()
	nics, switches, err := spec.build(driver)
	if err == nil && d.activity != nil {
		d.deadlockSearch = newDeadlockSearch(s, nics, switches)
	}
	return nics, switches, d, err
}

func (s *Spec) build(driver func(node int) dataplane.NICDriver) ([]*dataplane.NIC, []*dataplane.Switch, error) {
	var nics []*dataplane.NIC
	var switches []*dataplane.Switch
	for i, h := range s.Hosts {
		n, err := dataplane.NewNIC(h, driver(i))
		if err != nil {
			return nil, nil, fmt.Errorf("host %s: %w", h.Name, err)
		}
		nics = append(nics, n)
	}
	for i, w := range s.Switches {
		n, err := dataplane.NewSwitch(w, driver(len(s.Hosts)+i))
		if err != nil {
			return nil, nil, fmt.Errorf("switch %s: %w", w.Name, err)
		}
		switches = append(switches, n)
	}
	return nics, switches, nil
}
