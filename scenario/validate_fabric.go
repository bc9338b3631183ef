package scenario

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// checkSchemes tries the constructors of the chosen schemes, which check their
// parameters.
func (b *builder) checkSchemes() error {
	type kind struct {
		s     *setting
		ports int
		rate  units.Rate
	}
	seen := make(map[kind]bool) // alike switches and ports are checked once
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		s, ends := b.switchAt(node), b.portEnds()[node]
		if k := (kind{s: s, ports: len(ends)}); !seen[k] {
			seen[k] = true
			if err := b.checkPolicy(&s.Switch, node); err != nil {
				return b.ofSwitch(s, err)
			}
		}
		for i, e := range ends {
			k := kind{s: b.portAt(node, i), rate: e.rate}
			if seen[k] {
				continue
			}
			seen[k] = true
			if err := k.s.checkPort(e.rate); err != nil {
				return b.ofSwitch(k.s, err)
			}
		}
	}
	for _, h := range b.set.transports() {
		if _, err := b.transport(h, 0); err != nil {
			return b.ofHost(h, err)
		}
	}
	for host := range b.graph.Hosts {
		for _, h := range b.hostAt(host).variants {
			p, ok := h.CC.Params.(lineChecker)
			if !ok {
				continue
			}
			if err := p.CheckLine(b.portEnds()[host][0].rate); err != nil {
				return b.ofHost(h, h.CC.wrong("hosts.cc", err))
			}
		}
	}
	return b.checkTelemetry()
}

// checkPolicy checks the schemes of a whole switch.
func (b *builder) checkPolicy(s *Switch, node int) error {
	policy, err := buffer.Policies.Get(s.Policy.Name)
	if err != nil {
		return at("switch.policy.name", err)
	}
	ends := b.portEnds()[node]
	env := buffer.Env{View: mmu.NewLedger(mmu.Spec{Ports: len(ends), Size: s.Buffer.Size, Kinds: b.kinds}).View()}
	for i := range ends {
		env.Rates = append(env.Rates, ends[i].rate)
	}
	if _, err := policy.New(s.Policy.Params, env); err != nil {
		return s.Policy.wrong("switch.policy", err)
	}
	if _, err := deadlock.Handlers.Get(s.Deadlock.Name); err != nil {
		return at("switch.deadlock.name", err)
	}
	return nil
}

// checkPort checks the schemes of a port.
func (s *setting) checkPort(rate units.Rate) error {
	if _, err := flowScheme(s.FlowControl); err != nil {
		return err
	}
	if _, err := s.ECN.marker(rate); err != nil {
		return s.ECN.wrong("switch.ecn", err)
	}
	return nil
}

// lineChecker is a parameter struct that must fit the line rate of every host.
type lineChecker interface{ CheckLine(units.Rate) error }

// checkDeadlock tries the handlers on switches of two ports, so that a mistake in
// their parameters is found here and not when the engine is built.
func (b *builder) checkDeadlock() error {
	seen := make(map[*setting]bool)
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		if seen[b.switchAt(node)] {
			continue
		}
		seen[b.switchAt(node)] = true
		spec, err := b.switchSpec(node, &route.Table{})
		if err != nil {
			return err
		}
		n := min(2, len(spec.Ports))
		spec.Ports, spec.Flow, spec.Sink, spec.Checks = spec.Ports[:n], spec.Flow[:n], nil, nil
		if _, err = dataplane.NewSwitch(spec, noDriver{}); err != nil {
			return err
		}
	}
	return nil
}

// noDriver drives nothing.
type noDriver struct{}

func (noDriver) Transmit(int, *packet.Packet, packet.Ext, units.Time) {}
func (noDriver) ArmTx(int, units.Time)                                {}
func (noDriver) ArmWake(units.Time)                                   {}

// absurd is more headroom than any buffer has; sums of it still fit 64 bits.
const absurd units.Bytes = 1 << 48

// checkChips checks that links fit the ports of every switch.
func (b *builder) checkChips() error {
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		s := b.switchAt(node)
		if s.Buffer.ReserveFor == "chip" && s.Ports == 0 {
			return b.ofSwitch(s, atf("switch.buffer.reserve_for", "the chip has no number of ports; allowed: chip together with switch.ports, or cabled"))
		}
		if n := len(b.portEnds()[node]); s.Ports != 0 && n > s.Ports {
			return b.ofSwitch(s, atf("switch.ports", "%s has %d links; allowed: %d to %d", b.graph.Names[node], n, n, sim.MaxPorts))
		}
	}
	return nil
}

// checkBuffers checks that private segments and headroom leave something to
// share in every switch.
func (b *builder) checkBuffers() error {
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		s := b.switchAt(node)
		if err := b.checkBuffer(&s.Switch, node); err != nil {
			return b.ofSwitch(s, err)
		}
	}
	return nil
}

func (b *builder) checkBuffer(cfg *Switch, node int) error {
	private := cfg.Buffer.PrivatePerQueue * units.Bytes(len(ids(maskOf(b.kinds, mmu.Lossless, mmu.Lossy))))
	name, ports := b.graph.Names[node], b.portSpecs(node)
	taken, most := units.Bytes(0), units.Bytes(0)
	for i := range ports {
		scheme, err := flowScheme(b.portAt(node, i).FlowControl)
		if err != nil {
			return err
		}
		part := min(scheme.Reserve(&ports[i]), absurd) + private
		most = max(most, part)
		taken += part
	}
	if cfg.Buffer.ReserveFor == "chip" {
		taken += most * units.Bytes(cfg.Ports-len(ports))
	}
	if taken >= cfg.Buffer.Size {
		return atf("switch.buffer.size", "private segments and headroom of %s take %d bytes of its %d; allowed: a larger buffer, fewer lossless classes, smaller private segments, or less headroom (or insurance)", name, int64(taken), int64(cfg.Buffer.Size))
	}
	return nil
}

// checkPFC checks that pauses can be refreshed before they run out: a scheme that
// promises to lose nothing could not keep its promise otherwise.
func (b *builder) checkPFC() error {
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		for i, e := range b.portEnds()[node] {
			port := b.portSpec(node, i, &e)
			if !b.promisesLossless(node, i) || port.PFC.Indefinite || port.Lossless == 0 {
				continue
			}
			s := b.portAt(node, i)
			if least := port.MinQuanta(); s.PFC.Quanta < least {
				return b.ofSwitch(s, atf("switch.pfc.quanta", "%d quanta of 64 bytes are too short to be refreshed: half of them must last for a frame of %d bytes and a PFC frame; allowed: %d to 65535, or hold: indefinite",
					s.PFC.Quanta, int64(max(port.MTU, port.MTUOut)), least))
			}
		}
	}
	return nil
}

// checkReceive checks the receive side of slow hosts.
func (b *builder) checkReceive() error {
	for i, h := range b.cfg.Hosts.Receive.Hosts {
		if b.host(h) < 0 {
			return b.noHost(fmt.Sprintf("hosts.receive.hosts[%d]", i), h)
		}
	}
	// The first host of each kind stands for the others; those on other cables
	// are checked when they have a slow receiver.
	seen := make(map[*hostSetting]bool)
	for node := range b.graph.Hosts {
		h := b.hostAt(node)
		if seen[h] && h.Receive.Rate == 0 {
			continue
		}
		seen[h] = true
		if err := b.checkReceiver(&h.Receive, node); err != nil {
			return b.ofHost(h, err)
		}
	}
	return nil
}

func (b *builder) checkReceiver(r *Receive, node int) error {
	const path = "hosts.receive"
	err := first(
		within(path+".xoff", r.Xoff, 0, mmu.MaxBuffer),
		within(path+".buffer", r.Buffer, 0, mmu.MaxBuffer),
		when(r.Rate != 0, within(path+".rate", r.Rate, minRate, maxRate)),
	)
	if err != nil || r.Rate == 0 {
		return err
	}
	e := &b.portEnds()[node][0]
	scheme, err := flowScheme(b.portAt(e.to, e.port).FlowControl)
	if err != nil {
		return err
	}
	if err := within(path+".xoff", r.Xoff, 1, mmu.MaxBuffer); err != nil {
		return err
	}
	port := b.portSpecs(node)[0]
	lossless := units.Bytes(len(ids(port.Lossless)))
	if need := lossless*r.Xoff + scheme.Reserve(&port); r.Buffer < need {
		return atf(path+".buffer", "%s do not hold xoff and headroom of %d lossless classes; allowed: %s or more", r.Buffer, lossless, need)
	}
	return nil
}

// noHost says that a host does not exist.
func (b *builder) noHost(path, name string) error {
	names := b.graph.Names[:b.graph.Hosts]
	allowed := topo.Brief(names)
	if last := fmt.Sprintf("host%d", len(names)-1); names[len(names)-1] == last {
		allowed = names[0] + " to " + last
	}
	return atf(path, "there is no host %q; allowed: %s", name, allowed)
}

func (b *builder) checkRouting() error {
	r := &b.cfg.Routing
	if _, err := route.Routers.Get(r.Name); err != nil {
		return at("routing.name", err)
	}
	if err := span("routing.reroute_after", r.RerouteAfter); err != nil {
		return err
	}
	for i := range r.Pinned {
		if err := b.checkPin(fmt.Sprintf("routing.pinned[%d]", i), &r.Pinned[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) checkFaults() error {
	type downTime struct {
		from, to units.Time
	}
	down := make(map[int][]downTime) // by link
	for i := range b.cfg.Faults {
		f := &b.cfg.Faults[i]
		path := fmt.Sprintf("faults[%d]", i)
		if err := b.checkFault(path, f); err != nil {
			return err
		}
		if f.DownFor == 0 {
			continue
		}
		link := b.link(f.Link)
		for k := range max(1, f.Times) {
			from := f.At + units.Time(k)*f.Every
			for _, d := range down[link] {
				if from <= d.to && d.from <= from+f.DownFor {
					return atf(path, "%s is down already from %s to %s; allowed: times that do not overlap or touch", f.Link, show(d.from), show(d.to))
				}
			}
			down[link] = append(down[link], downTime{from, from + f.DownFor})
		}
	}
	return nil
}

// checkFault checks one fault: exactly one thing goes wrong.
func (b *builder) checkFault(path string, f *Fault) error {
	err := first(
		span(path+".at", f.At), span(path+".down_for", f.DownFor), span(path+".every", f.Every), span(path+".for", f.For),
		within(path+".times", f.Times, 0, maxFlaps),
	)
	switch {
	case err != nil:
		return err
	case (f.Link == "") == (f.Host == ""):
		return atf(path, "a fault is of a link or of a host; allowed: one of link, host")
	case f.Host != "":
		return b.checkHostFault(path, f)
	case b.link(f.Link) < 0:
		_, err := b.graph.LinkNamed(f.Link)
		return at(path+".link", err)
	case f.Stuck:
		return atf(path+".stuck", "a link cannot be stuck; allowed: for a host")
	case f.DownFor == 0 && f.Corrupt == 0:
		return atf(path, "nothing happens to %s; allowed: down_for or corrupt", f.Link)
	case f.DownFor != 0 && f.Corrupt != 0:
		return atf(path, "%s cannot be down and corrupt in one fault; allowed: two faults", f.Link)
	case f.Corrupt != 0:
		return b.checkCorrupt(path, f)
	default:
		return f.checkDown(path)
	}
}

func (b *builder) checkHostFault(path string, f *Fault) error {
	switch {
	case b.host(f.Host) < 0:
		return b.noHost(path+".host", f.Host)
	case !f.Stuck:
		return atf(path, "nothing happens to %s; allowed: stuck: true", f.Host)
	case f.DownFor != 0 || f.Times != 0 || f.Every != 0 || f.Corrupt != 0:
		return atf(path, "a host can only be stuck; allowed: at, host, stuck, for")
	case f.For == 0:
		return atf(path, "it is not said how long %s is stuck; allowed: for, more than 0s", f.Host)
	}
	return nil
}

func (b *builder) checkCorrupt(path string, f *Fault) error {
	switch {
	case !(f.Corrupt > 0 && f.Corrupt <= 1):
		return atf(path+".corrupt", "%v is no share of frames; allowed: more than 0, at most 1", f.Corrupt)
	case f.Times != 0 || f.Every != 0:
		return atf(path, "only a link that goes down can flap; allowed: times and every with down_for")
	case f.For == 0 && b.cfg.written(path+".for"):
		return atf(path+".for", "for no time nothing is damaged; allowed: more than 0s, or without: to the end")
	}
	return nil
}

func (f *Fault) checkDown(path string) error {
	switch {
	case f.For != 0:
		return atf(path+".for", "a link that goes down says how long with down_for; allowed: for with corrupt or stuck")
	case (f.Times > 1) != (f.Every > 0):
		return atf(path, "flapping needs how often and how far apart; allowed: times, 2 or more, together with every")
	case f.Times > 1 && f.Every <= f.DownFor:
		return atf(path+".every", "%s does not let the link come up between; allowed: more than down_for, %s", f.Every, f.DownFor)
	}
	return within(path+".down_for", f.At+units.Time(max(1, f.Times)-1)*f.Every+f.DownFor, 0, units.MaxTime)
}

// deadLinks returns the links that are down all the time.
func (b *builder) deadLinks() map[int]bool {
	dead := make(map[int]bool)
	for _, f := range b.cfg.Faults {
		if f.DownFor > 0 && f.At == 0 && f.DownFor >= b.cfg.Run.Stop.AtMost {
			dead[b.link(f.Link)] = true
		}
	}
	return dead
}

// islands numbers the parts of the fabric that no link joins, by node. Hosts do
// not forward, but each has one link only.
func (b *builder) islands() []int {
	dead := b.deadLinks()
	part := make([]int, b.graph.Nodes())
	for i := range part {
		part[i] = i
	}
	root := func(n int) int {
		for part[n] != n {
			part[n] = part[part[n]]
			n = part[n]
		}
		return n
	}
	for i, l := range b.graph.Links {
		if x, y := root(l.A), root(l.B); x != y && !dead[i] {
			part[max(x, y)] = min(x, y)
		}
	}
	for i := range part {
		part[i] = root(i)
	}
	return part
}
