package hpcc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/buffer"
	"github.com/xoff-net/xoff/cc"
	"github.com/xoff-net/xoff/flowctl"
	"github.com/xoff-net/xoff/mark"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/units"
	"github.com/xoff-net/xoff/workload"
)

// Input is a run of the public simulator: its three files.
type Input struct {
	Settings *Settings
	Fabric   *Fabric
	Flows    []Flow
	Routes   Routes // nil: not stated
}

// Read reads a configuration and the files that it names.
func Read(config string) (*Input, error) {
	s, err := ReadSettings(config)
	if err != nil {
		return nil, err
	}
	f, err := ReadFabric(s.Topology)
	if err != nil {
		return nil, err
	}
	flows, err := ReadFlows(s.Flows, f)
	if err != nil {
		return nil, err
	}
	in := &Input{Settings: s, Fabric: f, Flows: flows}
	in.Routes, err = ReadRoutes(filepath.Join(filepath.Dir(config), "routes.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return in, nil
}

// Facts of the public simulator that its files do not state.
const (
	header      = 48 // of a data packet
	intHeader   = 42 // of telemetry, whatever the number of hops
	ackSize     = 60
	intAckSize  = 88
	pfcFrame    = 43
	alphaDen    = 8    // thresholds are 1/8 of what is free
	headroomRTT = 3    // headroom in units of rate x delay
	xon         = 1248 // a queue resumes below this,
	xonOffset   = 2496 // or this far below its threshold
)

// nodeName is the name of a node in a scenario. Hosts and switches are numbered
// together.
func (in *Input) nodeName(n int) string {
	if in.Fabric.Switch[n] {
		return fmt.Sprintf("switch%d", n)
	}
	return fmt.Sprintf("host%d", n)
}

// Scenario describes the run with a congestion control. Compat makes it agree with
// the public simulator in what that does wrong or otherwise, too.
func (in *Input) Scenario(algorithm string, compat bool) (*scenario.Config, error) {
	s := in.Settings
	class, err := in.class()
	if err != nil {
		return nil, err
	}
	c := scenario.Default()
	c.Name = "hpcc-" + algorithm
	c.Topology = in.topology()
	c.Classes = map[string]scenario.Class{"control": {IDs: []int{0}, Kind: "control"}, "rdma": {IDs: []int{class}, Kind: "lossless"}}
	c.Switch = in.switches(c.Switch, compat)
	if c.Hosts, err = in.hosts(c.Hosts, algorithm); err != nil {
		return nil, err
	}
	c.Workload = []scenario.Workload{{Name: "flows", Generator: "flows", Class: scenario.ClassChoice{Fixed: "rdma"}, Params: in.list()}}
	c.Run.Arrivals = s.Stop
	c.Run.Measure = scenario.Measure{}
	c.Run.Stop = scenario.Stop{When: "all_flows_done", AtMost: s.Stop}
	for _, d := range s.Downs {
		c.Faults = append(c.Faults, scenario.Fault{At: d.At, Link: in.nodeName(d.A) + "-" + in.nodeName(d.B), DownFor: s.Stop})
	}
	if rate := s.ErrorRate; rate > 0 {
		return nil, &Mistake{s.File, 1, 1, fmt.Errorf("ERROR_RATE_PER_LINK is %v; allowed: 0, or error rates of single links in the topology file", rate)}
	}
	for _, l := range in.Fabric.Links {
		if l.ErrorRate > 0 {
			c.Faults = append(c.Faults, scenario.Fault{Link: in.nodeName(l.A) + "-" + in.nodeName(l.B), Corrupt: l.ErrorRate, For: s.Stop})
		}
	}
	if compat {
		c.Compat = scenario.Compat{Tick: units.Nanosecond, PFCSize: pfcFrame, NIC: "scan", EveryEnd: true, Ties: "insertion", BaseRTT: in.maxRTT()}
	}
	return c, nil
}

// class returns the class of all flows.
func (in *Input) class() (int, error) {
	class := 3
	for i := range in.Flows {
		if i > 0 && in.Flows[i].Class != class {
			return 0, fmt.Errorf("%s: flows have priorities %d and %d; allowed: one for all", in.Settings.Flows, class, in.Flows[i].Class)
		}
		class = in.Flows[i].Class
	}
	if class == 0 {
		return 0, fmt.Errorf("%s: priority 0 is for control frames; allowed: 1 to 7", in.Settings.Flows)
	}
	return class, nil
}

func (in *Input) topology() scenario.Topology {
	p := &topo.CustomParams{Link: topo.Cable{Rate: in.Fabric.Links[0].Rate, Delay: in.Fabric.Links[0].Delay}}
	for n, sw := range in.Fabric.Switch {
		if sw {
			p.Switches = append(p.Switches, in.nodeName(n))
		} else {
			p.Hosts = append(p.Hosts, in.nodeName(n))
		}
	}
	for _, l := range in.Fabric.Links {
		p.Links = append(p.Links, topo.CustomLink{Ends: []string{in.nodeName(l.A), in.nodeName(l.B)}, Rate: l.Rate, Delay: l.Delay})
	}
	return scenario.Fabric("custom", p)
}

// switches describes the memory: a shared pool, and headroom beside it.
func (in *Input) switches(s scenario.Switch, compat bool) scenario.Switch {
	ports := in.Fabric.ports()
	headroom := in.headroom()
	s.Ports = 0
	// Build gives every switch the pool beside the headroom of its own ports.
	s.Buffer = scenario.Buffer{Size: in.pool() + units.Bytes(slices.Max(ports))*headroom, Cell: 1, ReserveFor: "cabled"}
	s.Policy = scenario.Choice{Name: "dt", Params: &buffer.DTParams{Alpha: buffer.Ratio{Num: 1, Den: alphaDen}, AlphaLossy: buffer.Ratio{Num: 1, Den: 1}}}
	s.FlowControl = scenario.Choice{Name: "sonic", Params: &flowctl.SONiCParams{
		Headroom: flowctl.Headroom{Rule: flowctl.HeadroomBytes, Bytes: headroom}, Xon: xon, Offset: xonOffset,
	}}
	s.Scheduler = scenario.Scheduler{Strict: []string{"control"}, RR: []string{"rdma"}}
	s.ECN.Classes, s.ECN.At = []string{"rdma"}, "dequeue"
	s.ECN.Choice = in.marking()
	if compat {
		s.PFC.Hold, s.PFC.Coalesce = "indefinite", false
	}
	return s
}

// pool is the shared part of the memory of a switch.
func (in *Input) pool() units.Bytes { return units.Bytes(in.Settings.BufferMB) * units.MiB }

// headroom of a queue. The public simulator sizes it by the port; what is more
// than enough changes no result.
func (in *Input) headroom() units.Bytes {
	most := units.Bytes(0)
	for _, l := range in.Fabric.Links {
		most = max(most, headroomRTT*l.Rate.In(l.Delay))
	}
	return most
}

// ports counts the ports of each node.
func (f *Fabric) ports() []int {
	n := make([]int, f.Nodes)
	for _, l := range f.Links {
		n[l.A]++
		n[l.B]++
	}
	return n
}

// marking is RED for the rate of the links between switches, or of all.
func (in *Input) marking() scenario.Choice {
	if !in.Settings.Marks || len(in.Settings.ECN) == 0 {
		return scenario.Choice{Name: "none"}
	}
	list := append([]Marking(nil), in.Settings.ECN...)
	sort.Slice(list, func(i, j int) bool { return list[i].Rate < list[j].Rate })
	m := list[len(list)-1]
	for _, l := range in.Fabric.Links {
		for _, k := range list {
			if k.Rate == l.Rate {
				m = k
			}
		}
	}
	return scenario.Choice{Name: "red", Params: &mark.REDParams{KMin: m.Kmin, KMax: m.Kmax, PMax: m.Pmax, Per: m.Rate}}
}

func (in *Input) hosts(h scenario.Hosts, algorithm string) (scenario.Hosts, error) {
	s := in.Settings
	h.Payload, h.Header = s.Payload, header
	h.Ack = scenario.Ack{Every: max(1, int((s.AckEvery+s.Payload-1)/s.Payload)), Class: "rdma", Size: ackSize}
	if s.AckFirst {
		h.Ack.Class = "control"
	}
	h.Telemetry = scenario.Telemetry{Header: intHeader, Ack: intAckSize - ackSize}
	h.CNP.Mode = "ack"
	h.Reliability.Timeout, h.Reliability.MaxTimeout = units.Second, units.Second // it has none
	choice, err := scenario.Choose("cc", algorithm)
	if err != nil {
		return h, err
	}
	h.CC = choice
	switch p := choice.Params.(type) {
	case *cc.DCQCNParams:
		if err := p.ApplyPreset("hpcc-sim"); err != nil {
			return h, err
		}
		p.AlphaInterval, p.CutInterval, p.RiseInterval, p.G = s.AlphaEvery, s.CutEvery, s.RiseEvery, s.G
		p.FastRecovery, p.AI, p.HAI, p.MinRate, p.ClampTarget = int(s.FastSteps), s.AI, s.HAI, s.MinRate, s.Clamp
	case *cc.HPCCParams:
		if err := p.ApplyPreset("hpcc-sim"); err != nil {
			return h, err
		}
		p.Eta, p.MaxStage, p.AI, p.MinRate = s.Target, int(s.Stages), s.AI, s.MinRate
	case *cc.PowerParams:
		if err := p.ApplyPreset("hpcc-sim"); err != nil {
			return h, err
		}
		p.Eta, p.MinRate = s.Target, s.MinRate
	}
	return h, nil
}

func (in *Input) list() *workload.List {
	l := &workload.List{}
	for _, f := range in.Flows {
		l.Flows = append(l.Flows, workload.FlowSpec{From: in.nodeName(f.Src), To: in.nodeName(f.Dst), Size: f.Size, Start: f.Start})
	}
	return l
}
