package publicsim

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Input is the input of a run of the public simulator: settings, topology and flows.
type Input struct {
	Settings *Settings
	Fabric   *Fabric
	Flows    []Flow
	Routes   Routes // nil: not given

	linkLines, flowLines []int // line of each link and flow

	once  sync.Once
	known *paths // cached by paths
}

// Read reads a configuration and the files it refers to.
func Read(config string) (*Input, error) {
	s, err := ReadSettings(config)
	if err != nil {
		return nil, err
	}
	in := &Input{Settings: s}
	t, err := open(s.Topology)
	if err != nil {
		return nil, err
	}
	if in.Fabric, err = parseFabric(t); err != nil {
		return nil, err
	}
	in.linkLines = t.lastLines(len(in.Fabric.Links))
	if t, err = open(s.Flows); err != nil {
		return nil, err
	}
	if in.Flows, err = parseFlows(t, in.Fabric); err != nil {
		return nil, err
	}
	in.flowLines = t.lastLines(len(in.Flows))
	in.Routes, err = ReadRoutes(filepath.Join(filepath.Dir(config), "routes.txt"), in.Fabric)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return in, nil
}

// Constants of the public simulator; sizes are in bytes.
const (
	header      = 48 // of a data packet
	intHeader   = 42 // of telemetry, for any number of hops
	stampHeader = 8  // of a time stamp
	ackSize     = 60
	intAckSize  = 88
	pfcFrame    = 43
	ackQueue    = 3    // ACKs of hosts wait in one queue, which pauses of this class block
	alphaDen    = 8    // thresholds are 1/8 of the free bytes
	headroomRTT = 3    // headroom in units of rate x delay
	xon         = 1248 // a queue resumes below this occupancy,
	xonOffset   = 2496 // or this far below its threshold

	nackInterval = 500 * units.Microsecond
)

// nodeName returns the name of a node in the scenario. Hosts and switches share numbers.
func (in *Input) nodeName(n int) string {
	if in.Fabric.Switch[n] {
		return fmt.Sprintf("switch%d", n)
	}
	return fmt.Sprintf("host%d", n)
}

// Scenario converts the input to a scenario with the given congestion control. Compat also
// reproduces the quirks of the public simulator. The scenario is complete: it gives the
// same results without the input files.
func (in *Input) Scenario(algorithm string, compat bool) (*scenario.Config, error) {
	s := in.Settings
	if err := in.check(algorithm, compat); err != nil {
		return nil, err
	}
	c := scenario.Default()
	c.Name = "hpcc-" + algorithm
	c.Topology = in.topology()
	c.Classes = map[string]scenario.Class{"control": {IDs: []int{0}, Kind: "control"}, "rdma": {IDs: in.classes(), Kind: "lossless"}}
	var err error
	if c.Switch, err = in.switches(c.Switch, compat); err != nil {
		return nil, err
	}
	if c.Hosts, err = in.hosts(c.Hosts, algorithm, compat); err != nil {
		return nil, err
	}
	list, err := in.list(compat)
	if err != nil {
		return nil, err
	}
	c.Workload = []scenario.Workload{{Name: "flows", Generator: "flows", Class: scenario.ClassChoice{Fixed: "rdma"}, Params: list}}
	c.Run.Arrivals = s.Stop
	c.Run.Measure = scenario.Measure{}
	c.Run.Stop = scenario.Stop{When: "all_flows_done", AtMost: s.Stop}
	if c.Faults, err = in.faults(); err != nil {
		return nil, err
	}
	if compat {
		c.Compat = scenario.Compat{Tick: units.Nanosecond, PFCSize: pfcFrame, NIC: "scan", EveryEnd: true, Ties: "insertion",
			BaseRTT: in.maxRTT(), AckQueue: ackQueue}
	}
	return c, nil
}

// modes has the CC_MODE of each algorithm, and whether it has a window.
var modes = map[string]struct {
	number int64
	window bool
}{"dcqcn": {1, false}, "hpcc": {3, true}, "powertcp": {3, true}, "theta-powertcp": {3, true}, "timely": {7, false}}

// check rejects settings that contradict the algorithm or are not supported.
func (in *Input) check(algorithm string, compat bool) error {
	s := in.Settings
	if m, known := modes[algorithm]; known {
		for _, k := range []struct {
			key  string
			have Optional[bool]
		}{{"HAS_WIN", s.Window}, {"VAR_WIN", s.VarWindow}} {
			// Without a window, VAR_WIN has no effect.
			if k.have.Given && k.have.Value != m.window && (m.window || k.key == "HAS_WIN") {
				return s.wrong(k.key, "is %d (expected %d with %s)", bit(k.have.Value), bit(m.window), algorithm)
			}
		}
		if s.Mode.Given && s.Mode.Value != m.number {
			return s.wrong("CC_MODE", "is %d (expected %d for %s, the algorithm of --cc or the folder)", s.Mode.Value, m.number, algorithm)
		}
	}
	if len(in.Flows) == 0 {
		return inputError(s.Flows, 1, 1, errors.New("there are no flows (expected at least one)"))
	}
	if algorithm == "hpcc" || algorithm == "powertcp" {
		for i, l := range in.Fabric.Links {
			if err := telemetry.HPCC.CheckRate(l.Rate); err != nil {
				return inputError(s.Topology, lineOf(in.linkLines, i), 1, err)
			}
		}
	}
	for i := range in.Flows {
		if at := in.Flows[i].Start; at >= s.Stop {
			return inputError(s.Flows, lineOf(in.flowLines, i), 1,
				fmt.Errorf("the flow starts at %s (expected before SIMULATOR_STOP_TIME, %s)", at, s.Stop))
		}
	}
	if !compat {
		return nil
	}
	if len(s.Downs) > 0 {
		return s.wrong("LINK_DOWN", "is not supported with --compat ns3, which fixes paths before the run (expected 0 0 0); fix: omit --compat")
	}
	if s.AckEvery > s.Payload {
		return s.wrong("L2_ACK_INTERVAL", "is %d (expected at most the payload with --compat ns3, which acknowledges every packet)", s.AckEvery)
	}
	return nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// classes returns the priorities of the flows in ascending order.
func (in *Input) classes() []int {
	var list []int
	for i := range in.Flows {
		if c := in.Flows[i].Class; !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	slices.Sort(list)
	return list
}

// faults returns corruption and link failures as faults of the scenario.
func (in *Input) faults() ([]scenario.Fault, error) {
	s := in.Settings
	var list []scenario.Fault
	for i, l := range in.Fabric.Links {
		rate := l.ErrorRate
		if rate == 0 {
			rate = s.ErrorRate
		}
		if rate > 0 {
			list = append(list, scenario.Fault{Link: in.linkName(i), Corrupt: rate, For: s.Stop})
		}
	}
	for _, d := range s.Downs {
		var to *neighbour
		if max(d.A, d.B) < in.Fabric.Nodes {
			to = in.paths().linkTo(d.A, d.B)
		}
		if to == nil {
			return nil, s.wrong("LINK_DOWN", "has nodes %d and %d (expected the two ends of a link)", d.A, d.B)
		}
		if d.At < s.Stop {
			list = append(list, scenario.Fault{At: d.At, Link: in.linkName(to.link), DownFor: s.Stop})
		}
	}
	return list, nil
}

// linkName returns the name of a link in the scenario. Parallel links have a number.
func (in *Input) linkName(link int) string {
	l := &in.Fabric.Links[link]
	name := in.nodeName(l.A) + "-" + in.nodeName(l.B)
	if !in.paths().parallel {
		return name
	}
	lane, lanes := 0, 0
	for i, k := range in.Fabric.Links {
		if i == link {
			lane = lanes
		}
		if k.A == l.A && k.B == l.B || k.A == l.B && k.B == l.A {
			lanes++
		}
	}
	if lanes == 1 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, lane)
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

func (in *Input) hosts(h scenario.Hosts, algorithm string, compat bool) (scenario.Hosts, error) {
	s := in.Settings
	h.Payload, h.Header = s.Payload, header
	h.Ack = scenario.Ack{Every: max(1, int((s.AckEvery+s.Payload-1)/s.Payload)), Class: "same", Size: ackSize}
	if s.AckFirst {
		h.Ack.Class = "control"
	}
	h.Telemetry = scenario.Telemetry{Header: intHeader, Ack: intAckSize - ackSize}
	h.CNP.Mode = "ack"
	h.Reliability.Timeout, h.Reliability.MaxTimeout = units.Second, units.Second // the public simulator has no timeout
	h.Reliability.NackInterval = nackInterval
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
		if compat { // the order of simultaneous events, and rounding
			p.FirstCutDelay, p.AlphaDelay, p.Truncate = units.Nanosecond, units.Picosecond, true
		}
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
	case *cc.ThetaParams:
		// The public simulator implements it in PowerTCP, whose packets carry telemetry anyway.
		h.Header, h.Ack.Size = header+intHeader, intAckSize
		if err := p.ApplyPreset("hpcc-sim"); err != nil {
			return h, err
		}
		p.MinRate = s.MinRate
	case *cc.TimelyParams:
		// Packets and their ACKs carry a time stamp.
		h.Header = header + stampHeader
		if err := p.ApplyPreset("hpcc-sim"); err != nil {
			return h, err
		}
		p.AI, p.HAI, p.MinRate = s.AI, s.HAI, s.MinRate
	}
	return h, nil
}

// list returns the flows. With compat, they take the paths that the public simulator's ECMP
// chooses. ACKs hash with source and destination swapped, so they take other paths.
func (in *Input) list(compat bool) (*workload.List, error) {
	l := &workload.List{}
	for i := range in.Flows {
		f := &in.Flows[i]
		w := workload.FlowSpec{From: in.nodeName(f.Src), To: in.nodeName(f.Dst), Size: f.Size, Start: f.Start, Class: strconv.Itoa(f.Class)}
		if compat {
			w.Via = in.names(in.paths().route(f.Src, f.Dst, f.SrcPort, f.DstPort))
			w.Back = in.names(in.paths().route(f.Dst, f.Src, f.DstPort, f.SrcPort))
			if len(w.Via) == 0 || len(w.Back) == 0 {
				return nil, inputError(in.Settings.Flows, lineOf(in.flowLines, i), 1,
					fmt.Errorf("there is no route from node %d to node %d and back (expected connected hosts)", f.Src, f.Dst))
			}
		}
		l.Flows = append(l.Flows, w)
	}
	return l, nil
}

// names returns a route in the form of a scenario: switches, with output ports if the
// fabric has parallel links.
func (in *Input) names(route []hop) []string {
	var list []string
	for _, h := range route {
		name := in.nodeName(h.node)
		if in.paths().parallel {
			name = fmt.Sprintf("%s.port%d", name, h.port)
		}
		list = append(list, name)
	}
	return list
}
