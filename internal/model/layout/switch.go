package layout

import (
	"maps"
	"reflect"
	"slices"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
)

// Switch returns the spec of a switch with a routing table.
func (l *Layout) Switch(node int, table *route.Table) (*dataplane.SwitchSpec, error) {
	cfg := &l.SwitchAt(node).Switch
	policy, err := buffer.Policies.Get(cfg.Policy.Name)
	if err != nil {
		return nil, yaml.At("switch.policy.name", err)
	}
	handler, err := deadlock.Handlers.Get(cfg.Deadlock.Name)
	if err != nil {
		return nil, yaml.At("switch.deadlock.name", err)
	}
	ports := l.PortSpecs(node)
	s := &dataplane.SwitchSpec{
		Name: l.Graph.Names[node],
		Node: uint32(node),
		Buffer: mmu.Spec{Size: cfg.Buffer.Size, Private: cfg.Buffer.PrivatePerQueue, Cell: cfg.Buffer.Cell, Kinds: l.Kinds,
			PerPacket: cfg.Buffer.PerPacket, Pool: cfg.Buffer.HeadroomPool, Parts: cfg.Buffer.Partitions, ChipPorts: cfg.Ports},
		Ports: ports,
		Policy: func(e buffer.Env) (buffer.Policy, error) {
			e.Ports = l.PolicyPorts(node)
			return policy.New(cfg.Policy.Params, e)
		},
		Marker: func(port int) (mark.Marker, error) { return Marker(&l.PortAt(node, port).ECN, ports[port].Rate) },
		ClassMarkers: func(port int) (map[uint8]mark.Marker, error) {
			return l.ClassMarkers(&l.PortAt(node, port).ECN, ports[port].Rate)
		},
		Deadlock: func(sw deadlock.Switch) (deadlock.Handler, error) {
			h, err := handler.New(cfg.Deadlock.Params, sw)
			if err != nil {
				return nil, l.Config.Locate(l.OfSwitch(l.SwitchAt(node), cfg.Deadlock.Wrong("switch.deadlock", err)))
			}
			return h, l.checkHandler(node, h)
		},
		AtEnqueue: cfg.ECN.At == "enqueue", Telemetry: l.Telemetry(),
		Router: func(e route.Env) (route.Router, error) { return l.Router(node, e) },
		Routes: table, RouteSeed: l.RouteSeed(node), Seed: l.seedOf("switch", node),
		Scheduler: func(port int) (sched.Scheduler, error) {
			return l.Scheduler(&l.PortAt(node, port).Scheduler, ports[port].Rate)
		},
		Peaks: l.Config.Output.Watermarks,
	}
	for i := range ports {
		here := l.PortAt(node, i)
		scheme, err := here.Flow()
		if err != nil {
			return nil, err
		}
		s.Flow = append(s.Flow, scheme)
		s.ECN = append(s.ECN, l.Marked(&here.ECN))
	}
	if cfg.Buffer.ReserveFor == "chip" {
		s.Spare, s.SparePool = l.Spare(&cfg.Buffer, cfg.Ports, s.Flow, ports)
	}
	return s, nil
}

// PolicyPorts returns the policy parameters of the ports of a switch, or nil if no override of a
// port changes them.
func (l *Layout) PolicyPorts(node int) []any {
	var ports []any
	own := false
	for i := range l.PortEnds()[node] {
		p := l.PortAt(node, i).Policy.Params
		ports = append(ports, p)
		own = own || !reflect.DeepEqual(p, l.SwitchAt(node).Policy.Params)
	}
	if !own {
		return nil
	}
	return ports
}

// RouteSeed returns the seed of the router of a switch.
func (l *Layout) RouteSeed(node int) uint64 { return l.seedOf("route", node) }

// Router builds the router of a switch.
func (l *Layout) Router(node int, env route.Env) (route.Router, error) {
	cfg := l.RoutingAt(node)
	e, err := route.Routers.Get(cfg.Name)
	if err != nil {
		return nil, yaml.At("routing.name", err)
	}
	r, err := e.New(cfg.Params, env)
	if err != nil {
		return nil, relocate(cfg.Wrong("routing", err), "routing", l.Config.Routing.Overrides, cfg.By)
	}
	return r, nil
}

// Spare returns the bytes set aside for ports of the chip that are not cabled. Each takes as
// much as the most demanding cabled port. Pool is the part in the headroom pool.
func (l *Layout) Spare(buf *scenario.Buffer, chip int, schemes []flowctl.Scheme, ports []link.Port) (all, pool units.Bytes) {
	most, private, pools := units.Bytes(0), units.Bytes(0), false
	for i := range ports {
		if part := schemes[i].Reserve(&ports[i]); part > most {
			most, pools = part, schemes[i].Properties().Pools
		}
		private = max(private, dataplane.PrivateSize(schemes[i], l.Kinds, buf.PrivatePerQueue))
	}
	n := units.Bytes(max(0, chip-len(ports)))
	if pools {
		pool = n * most
	}
	return n * (most + private), pool
}

// FlowScheme constructs a flow control. For the flow control of a port, use Setting.Flow.
func FlowScheme(c scenario.Choice) (flowctl.Scheme, error) {
	e, err := flowctl.Schemes.Get(c.Name)
	if err != nil {
		return nil, yaml.At("switch.flow_control.name", err)
	}
	s, err := e.New(c.Params)
	if err != nil {
		return nil, c.Wrong("switch.flow_control", err)
	}
	return s, nil
}

// Marker builds the marker of a port.
func Marker(e *scenario.ECN, r units.Rate) (mark.Marker, error) {
	m, err := mark.Markers.Get(e.Name)
	if err != nil {
		return nil, yaml.At("switch.ecn.name", err)
	}
	return m.New(e.Params, r)
}

// ClassMarkers builds the markers of single classes of a port.
func (l *Layout) ClassMarkers(e *scenario.ECN, r units.Rate) (map[uint8]mark.Marker, error) {
	own := make(map[uint8]mark.Marker)
	for _, g := range slices.Sorted(maps.Keys(e.ByClass)) {
		c := e.ByClass[g]
		m, err := Marker(&scenario.ECN{Choice: c}, r)
		if err != nil {
			return nil, c.Wrong("switch.ecn.by_class."+g, err)
		}
		for id := range l.Masks[g].All() {
			own[id] = m
		}
	}
	return own, nil
}

// CanMark returns the classes whose marker is not none.
func (l *Layout) CanMark(e *scenario.ECN) packet.ClassMask {
	mask := packet.ClassMask(0)
	if e.Name != "none" {
		mask = l.Marked(e)
	}
	for g, c := range e.ByClass {
		mask |= l.Masks[g]
		if c.Name == "none" {
			mask &^= l.Masks[g]
		}
	}
	return mask
}

// Marked returns the classes with ECN enabled on a port.
func (l *Layout) Marked(e *scenario.ECN) packet.ClassMask {
	if len(e.Classes) == 0 {
		return l.MaskOf(mmu.Lossless, mmu.Lossy)
	}
	mask := packet.ClassMask(0)
	for _, g := range e.Classes {
		mask |= l.Masks[g]
	}
	return mask
}

// Scheduler builds the scheduler of a port. If every class has strict priority, it is the
// strict scheduler.
func (l *Layout) Scheduler(cfg *scenario.Scheduler, rate units.Rate) (sched.Scheduler, error) {
	env := sched.Env{Rate: rate}
	for _, g := range cfg.Strict {
		env.Strict |= l.Masks[g]
	}
	for _, g := range cfg.Served(l.Config) {
		env.Served |= l.Masks[g]
	}
	name := cfg.Name
	if env.Served == 0 {
		name = "strict"
	}
	e, err := sched.Schedulers.Get(name)
	if err != nil {
		return nil, yaml.At("switch.scheduler.name", err)
	}
	s, err := e.New(cfg.Params, env)
	if err != nil {
		return nil, cfg.Wrong("switch.scheduler", err)
	}
	return s, nil
}

// checkHandler checks that the flow control of a switch suits its deadlock handler: it uses
// PFC, and does not coalesce pauses if the handler needs every change.
func (l *Layout) checkHandler(node int, h deadlock.Handler) error {
	if h == nil {
		return nil
	}
	_, ordered := h.(deadlock.Ordered)
	name := l.SwitchAt(node).Deadlock.Name
	for i := range l.PortEnds()[node] {
		s := l.PortAt(node, i)
		scheme, err := s.Flow()
		if err != nil {
			return err
		}
		dialect := scheme.Properties().Dialect
		if Traits(flowctl.Schemes, s.FlowControl.Name)&registry.NeverBlocks != 0 {
			dialect = "no pause frames"
		}
		switch {
		case dialect != flowctl.PFC:
			return l.OfSwitch(s, yaml.Atf("switch.flow_control.name", "deadlock handler %s needs PFC, but flow control %s uses %s; fix: choose flow control that uses PFC, or set deadlock to none", name, s.FlowControl.Name, dialect))
		case ordered && s.PFC.Coalesce:
			return l.OfSwitch(l.SwitchAt(node), yaml.Atf("switch.deadlock.name", "%s needs every change of a pause, but pfc.coalesce is true; fix: set pfc.coalesce: false, or choose another handler", name))
		}
	}
	return nil
}
