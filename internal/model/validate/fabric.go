package validate

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// fabric has the checks that need the layout.
type fabric struct{ *layout.Layout }

// checkSettings repeats the checks of switch and hosts for every setting.
func (f fabric) checkSettings() error {
	for _, s := range slices.Concat(f.OfSwitches, f.OfPorts) {
		cfg := *f.Config
		cfg.Switch = s.Switch
		c := checker{&cfg}
		if err := yaml.First(c.checkSwitch(), c.checkScheduler(), c.checkECN()); err != nil {
			return f.OfSwitch(s, err)
		}
	}
	for _, h := range f.Transports() {
		cfg := *f.Config
		cfg.Hosts = h.Hosts
		if err := (checker{&cfg}).checkHosts(); err != nil {
			return f.OfHost(h, err)
		}
	}
	return nil
}

// checkLinks checks that the two ends of a link use the same flow control frames, and that
// frames do not exceed the MTU of ports.
func (f fabric) checkLinks() error {
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		for i, e := range f.PortEnds()[node] {
			here := f.PortAt(node, i)
			name := f.portName(node, i)
			largest := max(f.LargestFrom(e.To), f.LargestFrom(node))
			if here.MTU != 0 && largest > here.MTU {
				return f.OfSwitch(here, yaml.Atf("switch.mtu",
					"MTU of %s is %s, but hosts send frames of %s (expected %s or more, or a smaller hosts.payload)", name,
					yaml.Show(here.MTU), yaml.Show(largest), yaml.Show(largest)))
			}
			if e.To < f.Graph.Hosts {
				continue
			}
			peer := f.PortAt(e.To, e.Port)
			there := f.portName(e.To, e.Port)
			x, errX := here.Flow()
			y, errY := peer.Flow()
			err := yaml.First(errX, errY)
			if err == nil {
				err = sameDialect(name, x, there, y)
			}
			if err != nil {
				// Blame the port with more overrides.
				if len(here.By) < len(peer.By) {
					here = peer
				}
				return f.OfSwitch(here, err)
			}
		}
	}
	return nil
}

func (f fabric) portName(node, port int) string {
	name, _ := f.Graph.PortNames(node, port, f.PortEnds()[node][port].To)
	return name
}

// sameDialect checks that the two ends of a link use the same flow control frames.
func sameDialect(portA string, a flowctl.Scheme, portB string, b flowctl.Scheme) error {
	x, y := a.Properties().Dialect, b.Properties().Dialect
	if x == y {
		return nil
	}
	return yaml.Atf("switch.flow_control",
		"%s uses %s, but its peer %s uses %s (expected the same at both ends)",
		portA, x, portB, y)
}

// checkSchemes calls the constructors of the selected schemes, which check their parameters.
func (f fabric) checkSchemes() error {
	type kind struct {
		s     *layout.Setting
		ports int
		rate  units.Rate
	}
	seen := make(map[kind]bool) // identical switches and ports are checked once
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		s, ends := f.SwitchAt(node), f.PortEnds()[node]
		if k := (kind{s: s, ports: len(ends)}); !seen[k] {
			seen[k] = true
			if err := f.checkSwitch(&s.Switch, node); err != nil {
				return f.OfSwitch(s, err)
			}
		}
		for i, e := range ends {
			k := kind{s: f.PortAt(node, i), rate: e.Rate}
			if seen[k] {
				continue
			}
			seen[k] = true
			if err := f.checkPort(k.s, e.Rate); err != nil {
				return f.OfSwitch(k.s, err)
			}
		}
	}
	for _, h := range f.Transports() {
		if _, err := f.Transport(h, 0); err != nil {
			return f.OfHost(h, err)
		}
	}
	for host := range f.Graph.Hosts {
		for _, h := range f.HostAt(host).Variants {
			p, ok := h.CC.Params.(lineChecker)
			if !ok {
				continue
			}
			if err := p.CheckLine(f.PortEnds()[host][0].Rate); err != nil {
				return f.OfHost(h, h.CC.Wrong("hosts.cc", err))
			}
		}
	}
	return f.checkTelemetry()
}

// checkSwitch checks the schemes of a whole switch.
func (f fabric) checkSwitch(s *scenario.Switch, node int) error {
	var rates []units.Rate
	for _, e := range f.PortEnds()[node] {
		rates = append(rates, e.Rate)
	}
	if err := f.checkPolicy(s, rates); err != nil {
		return err
	}
	if _, err := deadlock.Handlers.Get(s.Deadlock.Name); err != nil {
		return yaml.At("switch.deadlock.name", err)
	}
	return nil
}

// checkPolicy checks the policy of a switch whose ports have the given rates.
func (f fabric) checkPolicy(s *scenario.Switch, rates []units.Rate) error {
	policy, err := buffer.Policies.Get(s.Policy.Name)
	if err != nil {
		return yaml.At("switch.policy.name", err)
	}
	view := mmu.NewLedger(mmu.Spec{Ports: len(rates), Size: s.Buffer.Size, Kinds: f.Kinds}).View()
	if _, err := policy.New(s.Policy.Params, buffer.Env{View: view, Rates: rates}); err != nil {
		return s.Policy.Wrong("switch.policy", err)
	}
	return nil
}

// checkPort checks the schemes of a port.
func (f fabric) checkPort(s *layout.Setting, rate units.Rate) error {
	if err := f.checkPolicy(&s.Switch, []units.Rate{rate}); err != nil { // limit of the port
		return err
	}
	if _, err := s.Flow(); err != nil {
		return err
	}
	if _, err := f.Scheduler(&s.Scheduler, rate); err != nil {
		return err
	}
	if _, err := layout.Marker(&s.ECN, rate); err != nil {
		return s.ECN.Wrong("switch.ecn", err)
	}
	_, err := f.ClassMarkers(&s.ECN, rate)
	return err
}

// checkFlow calls the check of every port's flow control.
func (f fabric) checkFlow() error {
	for node := range f.Graph.Nodes() {
		for i, e := range f.PortEnds()[node] {
			at, port := node, i
			if node < f.Graph.Hosts {
				at, port = e.To, e.Port
			}
			s := f.PortAt(at, port)
			scheme, err := s.Flow()
			if err != nil {
				return f.OfSwitch(s, err)
			}
			check := scheme.Properties().Check
			if check == nil {
				continue
			}
			spec := f.PortSpec(node, i)
			if err := check(&spec); err != nil {
				return f.OfSwitch(s, s.FlowControl.Wrong("switch.flow_control", fmt.Errorf("%w (%s)", err, f.portName(node, i))))
			}
		}
	}
	return nil
}

// lineChecker is implemented by parameters that depend on the line rate of the host.
type lineChecker interface{ CheckLine(units.Rate) error }

// checkDeadlock constructs the deadlock handlers on switches with two ports, to check their
// parameters.
func (f fabric) checkDeadlock() error {
	seen := make(map[string]bool) // by the settings of a switch and its ports
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		settings := []*layout.Setting{f.SwitchAt(node)}
		for i := range f.PortEnds()[node] {
			if s := f.PortAt(node, i); !slices.Contains(settings, s) {
				settings = append(settings, s)
			}
		}
		id := fmt.Sprint(settings) // addresses
		if seen[id] {
			continue
		}
		seen[id] = true
		spec, err := f.Switch(node, &route.Table{})
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

// noDriver is a driver that does nothing.
type noDriver struct{}

func (noDriver) Transmit(int, *packet.Packet, packet.Ext, units.Time) {}
func (noDriver) ArmTx(int, units.Time)                                {}
func (noDriver) ArmWake(units.Time)                                   {}

// absurd is an upper bound of headroom that is larger than any buffer; sums still fit 64 bits.
const absurd units.Bytes = 1 << 48

// checkChips checks that no switch has more links than ports.
func (f fabric) checkChips() error {
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		s := f.SwitchAt(node)
		if s.Buffer.ReserveFor == "chip" && s.Ports == 0 {
			return f.OfSwitch(s, yaml.Atf("switch.buffer.reserve_for",
				"chip needs switch.ports, which is not set; fix: set switch.ports, or use cabled"))
		}
		if n := len(f.PortEnds()[node]); s.Ports != 0 && n > s.Ports {
			return f.OfSwitch(s, yaml.Atf("switch.ports", "%s has %d links (expected %d to %d ports)", f.Graph.Names[node], n, n, sim.MaxPorts))
		}
	}
	return nil
}

// checkBuffers checks that private segments and headroom leave a shared segment in every
// switch.
func (f fabric) checkBuffers() error {
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		s := f.SwitchAt(node)
		if err := f.checkBuffer(&s.Switch, node); err != nil {
			return f.OfSwitch(s, err)
		}
	}
	return nil
}

func (f fabric) checkBuffer(cfg *scenario.Switch, node int) error {
	name, ports := f.Graph.Names[node], f.PortSpecs(node)
	taken, most := cfg.Buffer.HeadroomPool, units.Bytes(0)
	for i := range ports {
		scheme, err := f.PortAt(node, i).Flow()
		if err != nil {
			return err
		}
		part := min(scheme.Reserve(&ports[i]), absurd) + dataplane.PrivateSize(scheme, f.Kinds, cfg.Buffer.PrivatePerQueue)
		most = max(most, part)
		taken += part
	}
	if cfg.Buffer.ReserveFor == "chip" {
		taken += most * units.Bytes(cfg.Ports-len(ports))
	}
	if taken >= cfg.Buffer.Size {
		err := yaml.Atf("switch.buffer.size",
			"private segments and headroom of %s need %d bytes, but its buffer has %d; fix: use a larger buffer, fewer lossless classes, smaller private segments, or less headroom (or insurance)", name, int64(taken), int64(cfg.Buffer.Size))
		return yaml.Or(err, "switch.buffer.private_per_queue", "switch.flow_control.minimum", "switch.flow_control.headroom", f.Config.LongestDelay(),
			"switch.ports", "classes", "topology")
	}
	return nil
}

// checkPFC checks that pauses can be refreshed before they expire, on ports whose flow control
// promises to be lossless.
func (f fabric) checkPFC() error {
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		for i := range f.PortEnds()[node] {
			port := f.PortSpec(node, i)
			if !f.PromisesLossless(node, i) || port.PFC.Indefinite || port.Lossless == 0 {
				continue
			}
			s := f.PortAt(node, i)
			if least := port.MinQuanta(); s.PFC.Quanta < least {
				return f.OfSwitch(s, yaml.Atf("switch.pfc.quanta",
					"%d quanta of 64 bytes expire before a refresh: half of them must cover a frame of %d bytes and a PFC frame (expected %d to 65535, or hold: indefinite)",
					s.PFC.Quanta, int64(max(port.MTU, port.MTUOut)), least))
			}
		}
	}
	return nil
}

// checkReceive checks hosts.receive.
func (f fabric) checkReceive() error {
	for i, h := range f.Config.Hosts.Receive.Hosts {
		if f.Host(h) < 0 {
			return f.noHost(fmt.Sprintf("hosts.receive.hosts[%d]", i), h)
		}
	}
	// Check one host per setting, and all hosts that receive slowly: their links may differ.
	seen := make(map[*layout.HostSetting]bool)
	for node := range f.Graph.Hosts {
		h := f.HostAt(node)
		if seen[h] && h.Receive.Rate == 0 {
			continue
		}
		seen[h] = true
		if err := f.checkReceiver(&h.Receive, node); err != nil {
			return f.OfHost(h, err)
		}
	}
	return nil
}

func (f fabric) checkReceiver(r *scenario.Receive, node int) error {
	const path = "hosts.receive"
	err := yaml.First(
		yaml.Within(path+".xoff", r.Xoff, 0, mmu.MaxBuffer),
		yaml.Within(path+".buffer", r.Buffer, 0, mmu.MaxBuffer),
		yaml.When(r.Rate != 0, yaml.Within(path+".rate", r.Rate, topo.MinRate, topo.MaxRate)),
	)
	if err != nil || r.Rate == 0 {
		return err
	}
	e := &f.PortEnds()[node][0]
	scheme, err := f.PortAt(e.To, e.Port).Flow()
	if err != nil {
		return err
	}
	if err := yaml.Within(path+".xoff", r.Xoff, 1, mmu.MaxBuffer); err != nil {
		return err
	}
	port := f.PortSpecs(node)[0]
	lossless := port.Queues()
	if need := lossless*r.Xoff + scheme.Reserve(&port); r.Buffer < need {
		return yaml.Atf(path+".buffer", "%s is too small for xoff and headroom of %d lossless classes (expected %s or more)", r.Buffer,
			lossless, need)
	}
	return nil
}

// noHost returns an error for a host that does not exist.
func (f fabric) noHost(path, name string) error {
	names := f.Graph.Names[:f.Graph.Hosts]
	expected := topo.Brief(names)
	if last := fmt.Sprintf("host%d", len(names)-1); names[len(names)-1] == last {
		expected = names[0] + " to " + last
	}
	return yaml.Atf(path, "there is no host %q (expected %s)", name, expected)
}

func (f fabric) checkRouting() error {
	r := &f.Config.Routing
	seen := make(map[*layout.RouteSetting]bool)
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		here := f.RoutingAt(node)
		if seen[here] {
			continue
		}
		seen[here] = true
		ends := f.PortEnds()[node]
		rates := make([]units.Rate, len(ends))
		for i := range ends {
			rates[i] = ends[i].Rate
		}
		view := mmu.NewLedger(mmu.Spec{Ports: len(ends)}).View()
		if _, err := f.Router(node, route.NewEnv(route.NewTable(f.Graph.Nodes()), view, rates, 0)); err != nil {
			return err
		}
	}
	if err := yaml.Span("routing.reroute_after", r.RerouteAfter); err != nil {
		return err
	}
	for i := range r.Pinned {
		if err := f.CheckPin(fmt.Sprintf("routing.pinned[%d]", i), &r.Pinned[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkTelemetry checks the telemetry that congestion control reads.
func (f fabric) checkTelemetry() error {
	spec := f.Telemetry()
	if spec == nil {
		return nil
	}
	for _, h := range f.Transports() {
		if h.Records != nil && *h.Records != *spec {
			return f.OfHost(h, yaml.Atf("hosts.cc",
				"%s reads telemetry in format %s with byte counter %s, but other transports read format %s with byte counter %s (expected one format per fabric)", h.CC.Name, h.Records.Format, h.Records.Counter, spec.Format, spec.Counter))
		}
	}
	for _, h := range f.Transports() {
		if frame := max(h.Payload+h.HeaderSize(), h.AckSize(spec)); frame > layout.MaxFrame {
			return f.OfHost(h, yaml.Atf("hosts.telemetry", "a packet with telemetry has %d bytes (expected at most %d)",
				int64(frame), int64(layout.MaxFrame)))
		}
	}
	for _, l := range f.Graph.Links {
		if l.B >= f.Graph.Hosts || l.A >= f.Graph.Hosts {
			if err := spec.Format.CheckRate(l.Rate); err != nil {
				return yaml.Atf("hosts.cc", "link %s-%s: %w", f.Graph.Names[l.A], f.Graph.Names[l.B], err)
			}
		}
	}
	for _, src := range [2]int{0, f.Graph.Hosts - 1} {
		for dst := range f.Graph.Hosts {
			if dst != src {
				if n := len(f.Path(src, dst)) - 1; n > telemetry.MaxHops {
					return yaml.Or(yaml.Atf("hosts.cc",
						"there are %[3]d switches from %[1]s to %[2]s (expected at most %[4]d with congestion control that reads telemetry)",
						f.Graph.Names[src], f.Graph.Names[dst], n, telemetry.MaxHops), "hosts.cc.name", "topology")
				}
			}
		}
	}
	for i, p := range f.Config.Routing.Pinned {
		if len(p.Via) > telemetry.MaxHops {
			return yaml.Atf(fmt.Sprintf("routing.pinned[%d].via", i),
				"the route has %d switches (expected at most %d with congestion control that reads telemetry)", len(p.Via), telemetry.MaxHops)
		}
	}
	return nil
}
