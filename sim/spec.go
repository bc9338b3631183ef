// Package sim runs data planes in simulated time. Two engines give the same
// results: the fast one (node windows) and the oracle (one global heap), which
// exists to check the fast one and to reproduce other simulators' tie rules.
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

// Spec describes a run: nodes, cables, flows and when to stop. Hosts are nodes
// 0 .. len(Hosts)-1, switches follow.
type Spec struct {
	Hosts    []*dataplane.NICSpec
	Switches []*dataplane.SwitchSpec
	Cables   []Cable
	Flows    *dataplane.Flows
	Routes   []RouteChange
	Samples  []Sample
	Seed     uint64
	// InsertionOrder lets simultaneous events happen in the order in which they were
	// planned, as in ns-3 (insertion.go), instead of that of their kinds and ports.
	InsertionOrder bool
	// MinFrame is the smallest frame that any node sends.
	MinFrame units.Bytes
	// Until ends the run. Before that it ends at the first multiple of
	// CheckPeriod at which Done reports true (nil: never), or that much later as
	// Linger says. The answer of Done may only change with what nodes do, and at
	// the times of DoneAt (sorted): while nothing happens, nobody asks in between.
	Until  units.Time
	Done   func(now units.Time) bool
	DoneAt []units.Time
	Linger units.Time
	// WatchDeadlocks looks for deadlocks at every multiple of CheckPeriod;
	// StopAtDeadlock also ends the run at the first that is found. Otherwise they are
	// looked for once, at the end.
	WatchDeadlocks, StopAtDeadlock bool
	LogPauses                      bool // keep every pause, with its cause
}

// CheckPeriod is how often, in simulated time, a run looks whether it may stop.
// It is fixed, so that results do not depend on the length of windows.
const CheckPeriod = 10 * units.Microsecond

// Cable is a full-duplex link.
type Cable struct {
	A, B       End
	Rate       units.Rate
	AtoB, BtoA units.Time // propagation, and the pipeline of the switch it leads to
	Overhead   units.Bytes
	Down       []units.Interval // no frame survives that is on the wire meanwhile
	Corrupt    []Corruption
}

// End is one end of a cable.
type End struct{ Node, Port int }

// Corruption damages frames at random.
type Corruption struct {
	units.Interval
	Rate float64 // share of the frames
}

// RouteChange installs new tables at a switch.
type RouteChange struct {
	At    units.Time
	Node  int
	Table *route.Table
}

// lastUntil returns when a run ends that would end at until, as a check at now
// finds it.
func (s *Spec) lastUntil(now, until units.Time) units.Time {
	if until == s.Until && s.Done != nil && s.Done(now) {
		return min(until, now+s.Linger)
	}
	return until
}

// nextAsk returns the first check after now at which the answer of Done may be
// another although nothing has happened.
func (s *Spec) nextAsk(now units.Time) units.Time {
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

// port describes the port at an end of a cable.
func (s *Spec) port(e End) *link.Port {
	if e.Node < len(s.Hosts) {
		return &s.Hosts[e.Node].Port
	}
	return &s.Switches[e.Node-len(s.Hosts)].Ports[e.Port]
}

// lookahead is how far apart in time two nodes are at least: nothing that one
// sends arrives at another before that.
func (s *Spec) lookahead() (units.Time, error) {
	l := units.Never
	for i := range s.Cables {
		c := &s.Cables[i]
		if c.AtoB <= 0 || c.BtoA <= 0 {
			return 0, fmt.Errorf("cable %d has no delay", i)
		}
		l = min(l, min(c.AtoB, c.BtoA)+s.port(c.A).TxTime(c.Rate, s.MinFrame))
	}
	return l, nil
}

// change is a timed event of one node: its link changes state, or its routes.
type change struct {
	at    units.Time
	port  int
	up    bool
	table *route.Table // of a route change
}

// changes collects the timed events of each node, in order.
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

// dataPlane is what both engines drive.
type dataPlane interface {
	Probe() probe.Node
	Start(now units.Time)
	Wake(now units.Time)
	TxDone(now units.Time, port int) (pending bool)
	LinkChanged(now units.Time, port int, up bool)
	PortStats(port int, now units.Time) dataplane.PortStats
	Lose(now units.Time, port int, p *packet.Packet)
}

// nodes builds the data planes of a run, each with its driver.
func (s *Spec) nodes(driver func(node int) dataplane.NICDriver) ([]*dataplane.NIC, []*dataplane.Switch, *deadlocks, error) {
	spec, d := s.watched()
	nics, switches, err := spec.build(driver)
	if err == nil && d.stirs != nil {
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
