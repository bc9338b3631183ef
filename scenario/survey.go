package scenario

import (
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Survey is the fabric of a scenario as it would be built, for questions that need
// no run. Unlike Build, it also describes one whose buffers are promised twice.
type Survey struct {
	Config   *Config
	Graph    *topo.Graph
	Kinds    [mmu.Classes]mmu.Kind
	Switches []SurveyedSwitch
	Slow     []SurveyedPort // of hosts that pause
	Pins     []SurveyedPin
	Uses     []Use
	Outages  []Outage

	b *builder
}

// SurveyedSwitch is a switch.
type SurveyedSwitch struct {
	Node     int
	Buffer   Buffer
	Chip     int         // ports of the chip; 0: those that are cabled
	Spare    units.Bytes // set aside for ports that are not cabled
	Deadlock string      // name of the handler
	Ports    []SurveyedPort
}

// SurveyedPort is a port.
type SurveyedPort struct {
	Node, Port  int
	Peer        int // node at the other end
	PeerPort    int
	Spec        flowctl.PortSpec
	FlowControl string
	Scheme      flowctl.Scheme
	Promises    registry.Promise // of the flow control
	ECN         uint8            // mask of classes that are marked
	MTU         units.Bytes      // as configured; 0: what hosts send
}

// SurveyedPin is a route of its own.
type SurveyedPin struct {
	Pin
	Src, Dst []int // hosts
	Hops     []workload.Hop
}

// SurveyedWay is a route that a list of flows gives to one of them, or to what
// comes back for it.
type SurveyedWay struct {
	Flow int
	Back bool
	Hops []workload.Hop
}

// Use is what a workload asks of the fabric.
type Use struct {
	Workload    string
	Classes     uint8    // mask
	Ack         uint8    // mask: of what comes back
	Reliability []string // of the hosts' transports that can carry it
	CC          []string
	Routed      bool // some of its flows have routes of their own; see Ways
}

// Outage is a state of the links that faults bring about.
type Outage struct {
	At    units.Time
	Links []int // that are down
}

// NewSurvey checks a scenario and describes its fabric.
func NewSurvey(cfg *Config) (*Survey, error) {
	if err := cfg.validate(false); err != nil {
		return nil, err
	}
	b := newBuilder(cfg, BuildOptions{})
	s := &Survey{Config: cfg, Graph: b.graph, Kinds: b.kinds, b: b}
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		set := b.switchAt(node)
		sw := SurveyedSwitch{Node: node, Buffer: set.Buffer, Chip: set.Ports, Deadlock: set.Deadlock.Name}
		var schemes []flowctl.Scheme
		for i := range b.portEnds()[node] {
			p := b.survey(node, i)
			sw.Ports = append(sw.Ports, p)
			schemes = append(schemes, p.Scheme)
		}
		if set.Buffer.ReserveFor == "chip" {
			sw.Spare, _ = b.spare(&set.Buffer, set.Ports, schemes, b.portSpecs(node))
		}
		s.Switches = append(s.Switches, sw)
	}
	for host := range b.graph.Hosts {
		if r := b.receive(host); r.Rate > 0 {
			s.Slow = append(s.Slow, b.survey(host, 0))
		}
	}
	for _, p := range cfg.Routing.Pinned {
		src, _, _ := b.graph.HostsLike([]string{p.From}) // validate has seen it
		dst, _, _ := b.graph.HostsLike([]string{p.To})
		hops, _, _ := b.switchesOf(p.Via)
		s.Pins = append(s.Pins, SurveyedPin{p, src, dst, hops})
	}
	s.Outages = b.outages()
	return s, s.uses()
}

// survey describes a port; that of a host does as the switch at its other end.
func (b *builder) survey(node, port int) SurveyedPort {
	e := &b.portEnds()[node][port]
	at, of := node, port
	if node < b.graph.Hosts {
		at, of = e.to, e.port
	}
	set := b.portAt(at, of)
	scheme, err := flowScheme(set.FlowControl)
	if err != nil {
		panic(err) // validate has looked
	}
	p := SurveyedPort{
		Node: node, Port: port, Peer: e.to, PeerPort: e.port, Spec: b.portSpec(node, port, e), FlowControl: set.FlowControl.Name, Scheme: scheme,
		Promises: promisesOf(set.FlowControl), MTU: set.MTU,
	}
	if set.ECN.Name != "none" {
		p.ECN = b.ecnMask(&set.ECN)
	}
	return p
}

// uses finds the classes of workloads.
func (s *Survey) uses() error {
	for i := range s.Config.Workload {
		w := &s.Config.Workload[i]
		g, e, err := s.b.generator(i)
		if err != nil {
			return s.Config.Locate(err)
		}
		u := Use{Workload: w.Name}
		for _, c := range e.Classes.IDs {
			u.Classes |= 1 << c
		}
		// Flows of lists and of traces may name a class each.
		switch g.(type) {
		case *workload.List, *workload.Trace:
			plan, err := g.Generate(e)
			if err != nil {
				return s.Config.Locate(workloadError(workloadPath(i), err))
			}
			u.Classes, u.Routed = 0, len(plan.Ways) > 0
			for _, f := range plan.Flows {
				u.Classes |= 1 << f.Class
			}
		}
		for _, h := range s.b.set.ofHosts {
			v := h.variant(w.Transport)
			u.Ack |= 1 << lowestID(s.b.masks[v.Ack.Class])
			u.Reliability = append(u.Reliability, v.Reliability.Name)
			u.CC = append(u.CC, v.CC.Name)
		}
		slices.Sort(u.Reliability)
		slices.Sort(u.CC)
		u.Reliability, u.CC = slices.Compact(u.Reliability), slices.Compact(u.CC)
		s.Uses = append(s.Uses, u)
	}
	return nil
}

// Flows generates the flows of the scenario.
func (s *Survey) Flows() ([]dataplane.Flow, error) {
	if s.b.out.Flows == nil {
		if err := s.b.flows(); err != nil {
			return nil, s.Config.Locate(err)
		}
	}
	return s.b.out.Flows.Flow, nil
}

// Ways returns the routes that lists of flows give to single ones, after Flows.
func (s *Survey) Ways() []SurveyedWay {
	list := make([]SurveyedWay, len(s.b.ways))
	for i, w := range s.b.ways {
		list[i] = SurveyedWay{int(w.flow), w.back, w.via}
	}
	return list
}

// outages returns the different states of the links that faults bring about, in
// order of time.
func (b *builder) outages() []Outage {
	times := map[units.Time]bool{}
	for _, f := range b.cfg.Faults {
		for k := range max(1, f.Times) {
			if from := f.At + units.Time(k)*f.Every; f.DownFor > 0 {
				times[from], times[from+f.DownFor] = true, true
			}
		}
	}
	var list []Outage
	for _, t := range sorted(times) {
		o := Outage{At: t}
		for _, f := range b.cfg.Faults {
			for k := range max(1, f.Times) {
				from := f.At + units.Time(k)*f.Every
				if f.DownFor > 0 && from <= t && t < from+f.DownFor {
					o.Links = append(o.Links, b.link(f.Link))
				}
			}
		}
		slices.Sort(o.Links)
		if o.Links != nil && !slices.ContainsFunc(list, func(x Outage) bool { return slices.Equal(x.Links, o.Links) }) {
			list = append(list, o)
		}
	}
	return list
}
