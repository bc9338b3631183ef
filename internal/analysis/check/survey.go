package check

import (
	"maps"
	"slices"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/model/validate"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Survey describes the fabric of a scenario without building it. Unlike fabric.New, it accepts
// overcommitted buffers.
type Survey struct {
	Config    *scenario.Config
	Graph     *topo.Graph
	Kinds     [mmu.Classes]mmu.Kind
	Switches  []surveyedSwitch
	Slow      []surveyedPort // ports of hosts that can pause: those with a receive rate
	Pins      []surveyedPin
	Uses      []use
	Outages   []outage
	FirstPath bool // every switch uses only the first equal-cost port

	l       *layout.Layout
	traffic *layout.Traffic
}

// surveyedSwitch describes a switch.
type surveyedSwitch struct {
	Node     int
	Buffer   scenario.Buffer
	Chip     int         // ports of the chip; 0: only the cabled ones
	Spare    units.Bytes // buffer reserved for ports that are not cabled
	Deadlock string      // name of the deadlock handler
	Ports    []surveyedPort
}

// surveyedPort describes a port.
type surveyedPort struct {
	Node, Port  int
	Peer        int // node of the peer
	PeerPort    int
	Spec        link.Port
	FlowControl string
	Scheme      flowctl.Scheme
	Promises    registry.Promise // promises of the flow control
	Pauses      bool             // it can pause its upstream
	Joins       bool             // it can pause all lossless classes together
	ECN         packet.ClassMask // classes that it marks
	MTU         units.Bytes      // configured MTU; 0: default
}

// surveyedPin is a pinned route.
type surveyedPin struct {
	scenario.Pin
	Src, Dst []int // hosts
	Hops     []workload.Hop
}

// flowRoute is a route that a list of flows sets for the data or the ACKs of one flow.
type flowRoute struct {
	Flow int
	Back bool
	Hops []workload.Hop
}

// use describes how a workload uses the fabric.
type use struct {
	Workload    string
	Classes     packet.ClassMask // classes of its data
	Ack         packet.ClassMask // classes of its ACKs
	Reliability []string         // reliability schemes of all hosts
	CC          []string         // congestion controls of all hosts
	NeedMarks   []string         // the members of CC that need marks
	Routed      bool             // some of its flows set routes; see FlowRoutes
}

// outage is a set of links that faults take down at the same time.
type outage struct {
	At    units.Time
	Links []int
}

// NewSurvey validates a scenario and describes its fabric.
func NewSurvey(cfg *scenario.Config) (*Survey, error) {
	l, err := validate.Fabric(cfg)
	if err != nil {
		return nil, err
	}
	s := &Survey{Config: cfg, Graph: l.Graph, Kinds: l.Kinds, l: l}
	for node := l.Graph.Hosts; node < l.Graph.Nodes(); node++ {
		set := l.SwitchAt(node)
		sw := surveyedSwitch{Node: node, Buffer: set.Buffer, Chip: set.Ports, Deadlock: set.Deadlock.Name}
		var schemes []flowctl.Scheme
		for i := range l.PortEnds()[node] {
			p := s.port(node, i)
			sw.Ports = append(sw.Ports, p)
			schemes = append(schemes, p.Scheme)
		}
		if set.Buffer.ReserveFor == "chip" {
			sw.Spare, _ = l.Spare(&set.Buffer, set.Ports, schemes, l.PortSpecs(node))
		}
		s.Switches = append(s.Switches, sw)
	}
	s.FirstPath = true
	for node := l.Graph.Hosts; node < l.Graph.Nodes(); node++ {
		s.FirstPath = s.FirstPath && layout.Traits(route.Routers, l.RoutingAt(node).Name)&registry.FirstPath != 0
	}
	for host := range l.Graph.Hosts {
		if r := l.Receive(host); r.Rate > 0 {
			s.Slow = append(s.Slow, s.port(host, 0))
		}
	}
	for _, p := range cfg.Routing.Pinned {
		src, _, _ := l.Graph.HostsLike([]string{p.From}) // validated before
		dst, _, _ := l.Graph.HostsLike([]string{p.To})
		hops, _, _ := l.SwitchesOf(p.Via)
		s.Pins = append(s.Pins, surveyedPin{p, src, dst, hops})
	}
	s.Outages = outages(l)
	return s, s.uses()
}

// Fits returns an error if the segments of a buffer exceed its size: such a scenario cannot
// run.
func (s *Survey) Fits() error { return validate.Fits(s.l) }

// port describes a port. A host's port has the flow control of the switch port at its other
// end.
func (s *Survey) port(node, port int) surveyedPort {
	l := s.l
	e := &l.PortEnds()[node][port]
	swNode, swPort := node, port
	if node < l.Graph.Hosts {
		swNode, swPort = e.To, e.Port
	}
	set := l.PortAt(swNode, swPort)
	scheme, err := set.Flow()
	if err != nil {
		panic(err) // validated before
	}
	traits := layout.Traits(flowctl.Schemes, set.FlowControl.Name)
	p := surveyedPort{
		Node: node, Port: port, Peer: e.To, PeerPort: e.Port, Spec: l.PortSpec(node, port), FlowControl: set.FlowControl.Name, Scheme: scheme,
		Promises: set.Promises(), Pauses: traits&registry.NeverBlocks == 0, Joins: traits&registry.PausesPorts != 0, MTU: set.MTU,
	}
	p.ECN = l.CanMark(&set.ECN)
	return p
}

// uses fills in Uses.
func (s *Survey) uses() error {
	for i := range s.Config.Workload {
		w := &s.Config.Workload[i]
		g, e, err := s.l.Generator(i)
		if err != nil {
			return s.Config.Locate(err)
		}
		u := use{Workload: w.Name}
		for _, c := range e.Classes.IDs {
			u.Classes |= 1 << c
		}
		// Each flow of a list or trace may have its own class.
		switch g.(type) {
		case *workload.List, *workload.Trace:
			plan, err := g.Generate(e)
			if err != nil {
				return s.Config.Locate(layout.WorkloadError(layout.WorkloadPath(i), err))
			}
			u.Classes, u.Routed = 0, len(plan.Ways) > 0
			for _, f := range plan.Flows {
				u.Classes |= 1 << f.Class
			}
		}
		for _, h := range s.l.OfHosts {
			v := h.Variant(w.Transport)
			u.Ack |= 1 << s.l.Masks[v.Ack.Class].Lowest() // no class if ACKs share the data's class
			u.Reliability = append(u.Reliability, v.Reliability.Name)
			u.CC = append(u.CC, v.CC.Name)
			if layout.Traits(cc.Algorithms, v.CC.Name)&registry.NeedsMarks != 0 {
				u.NeedMarks = append(u.NeedMarks, v.CC.Name)
			}
		}
		slices.Sort(u.Reliability)
		slices.Sort(u.CC)
		slices.Sort(u.NeedMarks)
		u.Reliability, u.CC = slices.Compact(u.Reliability), slices.Compact(u.CC)
		s.Uses = append(s.Uses, u)
	}
	return nil
}

// Flows returns the flows of the scenario, which it generates on the first call.
func (s *Survey) Flows() ([]dataplane.Flow, error) {
	if s.traffic == nil {
		t, err := s.l.Traffic("")
		if err != nil {
			return nil, s.Config.Locate(err)
		}
		s.traffic = t
	}
	return s.traffic.Flows.Flow, nil
}

// FlowRoutes returns the routes that lists of flows set for single flows. Call Flows first.
func (s *Survey) FlowRoutes() []flowRoute {
	list := make([]flowRoute, len(s.traffic.Ways))
	for i, w := range s.traffic.Ways {
		list[i] = flowRoute{int(w.Flow), w.Back, w.Via}
	}
	return list
}

// outages returns the distinct sets of links that faults take down, in order of time.
func outages(l *layout.Layout) []outage {
	times := map[units.Time]bool{}
	for _, f := range l.Config.Faults {
		for k := range max(1, f.Times) {
			if from := f.At + units.Time(k)*f.Every; f.DownFor > 0 {
				times[from], times[from+f.DownFor] = true, true
			}
		}
	}
	var list []outage
	for _, t := range slices.Sorted(maps.Keys(times)) {
		o := outage{At: t}
		for _, f := range l.Config.Faults {
			for k := range max(1, f.Times) {
				from := f.At + units.Time(k)*f.Every
				if f.DownFor > 0 && from <= t && t < from+f.DownFor {
					o.Links = append(o.Links, l.Link(f.Link))
				}
			}
		}
		slices.Sort(o.Links)
		if o.Links != nil && !slices.ContainsFunc(list, func(x outage) bool { return slices.Equal(x.Links, o.Links) }) {
			list = append(list, o)
		}
	}
	return list
}
