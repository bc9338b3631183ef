package convert

import (
	"fmt"
	"math/bits"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/sched"
)

// fromLayout returns the fabric of a scenario. An unsupported buffer policy, flow control or
// ratio is an error; other settings without an equivalent are added to the omitted settings.
func fromLayout(l *layout.Layout) (*fabric, error) {
	cfg := l.Config
	f := &fabric{name: cfg.Name}
	for _, c := range cfg.Classes {
		for _, id := range c.IDs {
			switch c.Kind {
			case "lossless":
				f.lossless = append(f.lossless, id)
			case "lossy":
				f.lossy = append(f.lossy, id)
			default:
				f.control = append(f.control, id)
			}
		}
	}
	sortInts(f.lossless, f.lossy, f.control)
	g := l.Graph
	for n := g.Hosts; n < g.Nodes(); n++ {
		sw, err := f.fromSwitch(l, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Names[n], err)
		}
		f.switches = append(f.switches, sw)
	}
	for i := range g.Links {
		k := &g.Links[i]
		metres := metresFor(k.Delay)
		if delay(metres) != k.Delay {
			f.omit("%s: delay %s is not a whole number of metres; using %d m", g.LinkName(i), k.Delay, metres)
		}
		c := cable{rate: k.Rate, metres: metres}
		for _, end := range [2][2]int{{k.A, k.PortA}, {k.B, k.PortB}} {
			if end[0] >= g.Hosts {
				p := &f.switches[end[0]-g.Hosts].ports[end[1]]
				p.rate, p.metres = k.Rate, metres
			}
		}
		switch {
		case k.A < g.Hosts:
			c.a, c.portA, c.b = k.B-g.Hosts, k.PortB, -1
		case k.B < g.Hosts:
			c.a, c.portA, c.b = k.A-g.Hosts, k.PortA, -1
		default:
			c.a, c.portA, c.b, c.portB = k.A-g.Hosts, k.PortA, k.B-g.Hosts, k.PortB
		}
		f.links = append(f.links, c)
	}
	return f, nil
}

// metresFor returns the cable length for a delay, at 1.98e8 m/s and at least defaultMetres.
func metresFor(d units.Time) int64 {
	return max(defaultMetres, int64(d)*198/1_000_000)
}

// fromSwitch returns the settings of the switch with node number at.
func (f *fabric) fromSwitch(l *layout.Layout, at int) (*node, error) {
	s := l.SwitchAt(at)
	n := &node{name: l.Graph.Names[at]}
	policy, ok := s.Policy.Params.(*buffer.ChipParams)
	if !ok {
		return nil, fmt.Errorf("policy %s has no SONiC equivalent (expected policy %s)", s.Policy.Name, policyName)
	}
	n.set = settings{
		size: s.Buffer.Size, cell: s.Buffer.Cell, perPacket: s.Buffer.PerPacket, pool: s.Buffer.HeadroomPool, partitions: int64(max(1, s.Buffer.Partitions)),
		egressLossless: policy.EgressLossless, egressLimit: policy.LosslessLimit, egressLossy: policy.EgressLossy,
	}
	var err error
	if n.set.alphaLossy, err = exponent("alpha_lossy", policy.AlphaLossy); err != nil {
		return nil, err
	}
	if s.Buffer.PrivatePerQueue > 0 {
		return nil, fmt.Errorf("buffer.private_per_queue is %s (expected 0B); fix: set flow_control.minimum instead", s.Buffer.PrivatePerQueue)
	}
	if w, ok := s.Deadlock.Params.(*deadlock.WatchdogParams); ok {
		n.set.watchdog = watchdog{w.Action, int64(w.Polling / units.Millisecond), int64(w.Detection / units.Millisecond), int64(w.Restoration / units.Millisecond)}
	}
	for i := range l.PortEnds()[at] {
		p, err := f.fromPort(l.PortAt(at, i), policy)
		if err != nil {
			return nil, fmt.Errorf("port%d: %w", i, err)
		}
		n.ports = append(n.ports, port{name: fmt.Sprintf("Ethernet%d", 4*i), set: p})
	}
	return n, nil
}

// fromPort returns the settings of a port; policy supplies the default alpha.
func (f *fabric) fromPort(s *layout.Setting, policy *buffer.ChipParams) (portSettings, error) {
	p := portSettings{mtu: s.MTU, processing: s.PFC.Processing}
	flow, ok := s.FlowControl.Params.(*flowctl.SONiCParams)
	if !ok {
		return p, fmt.Errorf("flow control %s has no SONiC equivalent (expected flow control sonic)", s.FlowControl.Name)
	}
	if flow.Headroom.Rule != link.RuleBytes {
		return p, fmt.Errorf("headroom is computed by a rule (expected a size in bytes)")
	}
	p.headroom, p.xon, p.offset, p.minimum, p.borrow = flow.Headroom.Bytes, flow.Xon, flow.Offset, flow.Minimum, flow.Borrow
	alpha := flow.Alpha
	if alpha.Den == 0 {
		alpha = policy.Alpha
	}
	var err error
	if p.alpha, err = exponent("alpha", alpha); err != nil {
		return p, err
	}
	switch m := s.ECN.Params.(type) {
	case *mark.REDParams:
		p.kmin, p.kmax, p.pmax = m.KMin, m.KMax, int64(m.PMax*100+0.5)
	default:
		if s.ECN.Name != "none" {
			f.omit("marker %s", s.ECN.Name)
		}
	}
	quanta, ok := s.Scheduler.Params.(*sched.DWRRParams)
	if !ok {
		f.omit("scheduler %s", s.Scheduler.Name)
		return p, nil
	}
	for id, q := range quanta.Quanta {
		if w := q / perWeight; w*perWeight == q && w >= 1 && w <= 100 {
			p.weights[id] = int64(w)
		} else {
			f.omit("quantum %s is not a multiple of %s with a weight of 1 to 100", q, perWeight)
		}
	}
	return p, nil
}

// exponent returns n for a ratio of 2^n. Errors name the key.
func exponent(key string, r units.Ratio) (int64, error) {
	if r.Den > 0 && r.Num > 0 {
		switch {
		case r.Num%r.Den == 0 && bits.OnesCount64(uint64(r.Num/r.Den)) == 1 && r.Num/r.Den <= 1<<7:
			return int64(bits.TrailingZeros64(uint64(r.Num / r.Den))), nil
		case r.Den%r.Num == 0 && bits.OnesCount64(uint64(r.Den/r.Num)) == 1 && r.Den/r.Num <= 1<<8:
			return -int64(bits.TrailingZeros64(uint64(r.Den / r.Num))), nil
		}
	}
	return 0, fmt.Errorf("%s is %d/%d (expected a power of 2 from 1/256 to 128)", key, r.Num, r.Den)
}
