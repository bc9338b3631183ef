package dataplane

import (
	"math/rand/v2"
	"slices"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
)

// SwitchSpec describes a switch. Its functions build the components; they are called once per
// switch, or once per port with the port's index.
type SwitchSpec struct {
	Name   string
	Node   uint32
	Buffer mmu.Spec // NewSwitch fills in Ports and Shared
	Ports  []link.Port
	// Spare is the part of the buffer reserved as headroom of unconnected ports of the chip.
	Spare units.Bytes
	// SparePool is the part of Spare in the headroom pool (flowctl.Properties.Pools).
	SparePool units.Bytes
	Policy    func(buffer.Env) (buffer.Policy, error)
	Flow      []flowctl.Scheme // by port
	Scheduler func(port int) (sched.Scheduler, error)
	Marker    func(port int) (mark.Marker, error)
	// ClassMarkers returns the markers of classes that have their own; nil: none.
	ClassMarkers func(port int) (map[uint8]mark.Marker, error)
	ECN          []packet.ClassMask // classes with ECN marking, by port
	AtEnqueue    bool               // mark frames when they enter their queue, not when they leave
	Router       func(route.Env) (route.Router, error)
	Routes       *route.Table
	RouteSeed    uint64
	Deadlock     func(deadlock.Switch) (deadlock.Handler, error)
	Seed         uint64
	Sink         probe.Sink
	Checks       *Checks
	Peaks        bool // record the highest occupancy of every queue
	Pairs        bool // count bytes per ingress port, egress port and class
	Log          *PauseLog
	// NoShortcuts asks the policy and the receivers about every stored frame, even if they
	// allow shortcuts. This is slow and must not change results; package conformance checks it.
	NoShortcuts bool
	// Telemetry is the format of records written into packets that request them; nil: none.
	Telemetry *telemetry.Spec
}

// Switch is an output-queued switch with one shared packet memory.
type Switch struct {
	// Fields that every frame needs: one cache line, then the memory.
	router route.Router
	fast   fastPath
	plain  bool // see switch_plain.go
	atEnq  bool
	kinds  [mmu.Classes]mmu.Kind
	memory memory
	stamps *stamps // nil: no flow wants telemetry
	rand   *rand.PCG

	node
	id         uint32
	routes     *route.Table
	timed      buffer.Waker
	pushOut    *pushOut    // nil: stored frames are never expelled
	arrival    mmu.Arrival // scratch: arguments of interface calls must not escape
	leaving    mmu.Arrival
	forHandler handlerSwitch
}

// NewSwitch builds a switch.
func NewSwitch(spec *SwitchSpec, drv Driver) (*Switch, error) {
	wireSink := probe.WireOf(spec.Sink)
	if wireSink != nil {
		drv = &tap{drv, wireSink}
	}
	n := len(spec.Ports)
	s := &Switch{
		id: spec.Node, routes: spec.Routes, kinds: spec.Buffer.Kinds, atEnq: spec.AtEnqueue,
		rand:   rand.NewPCG(spec.Seed, 0),
		memory: memory{packets: make([]packet.Packet, 1, 64), next: make([]uint32, 1, 64)},
	}
	s.node = node{drv: drv, ports: make([]port, n), wakes: newWakes(2*n + 4), fixed: 2*n + 4, renewal: 2*n + 3, sink: spec.Sink,
		checks: spec.Checks, watched: spec.Sink != nil || spec.Checks != nil, serve: s.serveData, causeOf: s.deepestPause,
		log: spec.Log, wireSink: wireSink, resumedAt: make([]units.Time, n*mmu.Classes)}

	layout := spec.Buffer
	layout.Ports = n
	layout.Shared = SharedSize(spec)
	profiles := profilesOf(spec, &layout)
	s.ledger = mmu.NewLedger(layout)
	s.stamps = newStamps(spec)
	s.tallies = s.stamps != nil
	s.view, s.sparePool = s.ledger.View(), spec.SparePool
	if spec.Peaks {
		s.ledger.KeepPeaks()
	}
	if spec.Pairs {
		s.ledger.KeepPairs()
	}
	env, err := s.environment(spec)
	if err != nil {
		return nil, err
	}
	env.Profiles = profiles
	policy, err := spec.Policy(env)
	if err != nil {
		return nil, err
	}
	s.policy = policy
	if s.router, err = spec.Router(route.NewEnv(spec.Routes, s.view, env.Rates, spec.RouteSeed)); err != nil {
		return nil, err
	}
	if _, ok := policy.(buffer.Pairs); ok {
		s.ledger.KeepPairs()
	}
	if s.egress, _ = policy.(buffer.EgressLimiting); s.egress != nil {
		s.ledger.KeepEgress(s.egress.EgressMinimum())
	}
	s.observer, _ = policy.(buffer.Observer)
	s.pauseObserver, _ = policy.(buffer.PauseObserver)
	s.timed, _ = policy.(buffer.Waker)
	if x, ok := policy.(buffer.Expeller); ok {
		s.pushOut = &pushOut{x, s}
		s.observer = s.pushOut
	}
	lossless, control := mmu.ClassesOf(s.kinds, mmu.Lossless), mmu.ClassesOf(s.kinds, mmu.Control)
	for i := range spec.Ports {
		s.initPort(i, &spec.Ports[i], spec.Flow[i])
		s.fast.addPort(&s.ports[i], policy, lossless, control, spec.NoShortcuts)
		if s.observer != nil {
			s.ports[i].counted = packet.AllClasses
		}
		if err := s.initMarkers(i, spec); err != nil {
			return nil, err
		}
	}
	if s.timed != nil {
		s.wakes.set(s.policyWake(), s.timed.NextWake())
	}
	if spec.Deadlock != nil {
		s.forHandler = handlerSwitch{s: s, rand: rand.NewPCG(spec.Seed, 1)}
		if s.handler, err = spec.Deadlock(&s.forHandler); err != nil {
			return nil, err
		}
		s.forHandler.hook, _ = s.handler.(deadlock.Hook)
		if s.handler != nil {
			s.handled = make([]handledQueue, len(s.ports)*mmu.Classes)
		}
		if _, ok := s.handler.(deadlock.Pairs); ok {
			s.ledger.KeepPairs()
		}
	}
	s.keepCauses()
	s.plain = s.isPlain(spec)
	s.attach(probedSwitch{probedNode{&s.node}, s})
	return s, nil
}

// profilesOf returns the profiles of the lossless queues of all ports, from their flow control,
// and writes their private segments into the buffer layout.
func profilesOf(spec *SwitchSpec, layout *mmu.Spec) []buffer.Profile {
	profiles := make([]buffer.Profile, len(spec.Ports))
	for i := range profiles {
		profiles[i] = spec.Flow[i].Properties().Profile
		if profiles[i].Minimum == 0 {
			continue
		}
		if layout.Minimum == nil {
			layout.Minimum = slices.Repeat([]units.Bytes{layout.Private}, len(profiles))
		}
		layout.Minimum[i] = profiles[i].Minimum
	}
	return profiles
}

// environment builds the schedulers and returns the environment of the policy.
func (s *Switch) environment(spec *SwitchSpec) (buffer.Env, error) {
	env := buffer.Env{View: s.view, Report: func(now units.Time, event string, port, class int, number int64) {
		s.report(now, probe.Policy, event, port, class, number)
	}}
	for i := range spec.Ports {
		var err error
		if s.ports[i].sched, err = spec.Scheduler(i); err != nil {
			return env, err
		}
		env.Rates, env.MTUs = append(env.Rates, spec.Ports[i].Rate), append(env.MTUs, spec.Ports[i].MTU)
		env.Quanta = append(env.Quanta, sched.Quanta(s.ports[i].sched))
	}
	return env, nil
}

// initMarkers sets the marker of a port and the markers of its classes.
func (s *Switch) initMarkers(i int, spec *SwitchSpec) error {
	m, err := spec.Marker(i)
	if err != nil {
		return err
	}
	p := &s.ports[i]
	p.marker, p.floor, p.ecn = m, m.Floor(), spec.ECN[i]
	if spec.ClassMarkers == nil {
		return nil
	}
	own, err := spec.ClassMarkers(i)
	if err != nil || len(own) == 0 {
		return err
	}
	p.markers = new([mmu.Classes]mark.Marker)
	for c := range p.markers {
		p.markers[c] = m
		if o, ok := own[uint8(c)]; ok {
			p.markers[c] = o
			p.floor = min(p.floor, o.Floor())
		}
	}
	return nil
}

// SharedSize returns the size of the shared segment: the buffer without private segments and
// headroom. It is negative if these do not fit.
func SharedSize(spec *SwitchSpec) units.Bytes {
	left := spec.Buffer.Size - spec.Spare - spec.Buffer.Pool
	for i := range spec.Ports {
		left -= spec.Flow[i].Reserve(&spec.Ports[i]) + PrivateSize(spec.Flow[i], spec.Buffer.Kinds, spec.Buffer.Private)
	}
	return left
}

// PrivateSize returns the total private segment of the ingress queues of a port.
func PrivateSize(flow flowctl.Scheme, kinds [mmu.Classes]mmu.Kind, private units.Bytes) units.Bytes {
	own, sum := flow.Properties().Profile.Minimum, units.Bytes(0)
	for _, k := range kinds {
		switch {
		case k == mmu.Lossless && own > 0:
			sum += own
		case k == mmu.Lossless || k == mmu.Lossy:
			sum += private
		}
	}
	return sum
}

func (s *Switch) policyWake() int  { return 2 * len(s.ports) }
func (s *Switch) handlerWake() int { return 2*len(s.ports) + 1 }
func (s *Switch) expelWake() int   { return 2*len(s.ports) + 2 }

// Start starts the switch at the beginning of a run.
func (s *Switch) Start(now units.Time) {
	s.wakes.dirty = true
	s.endEvent(now)
}

// SetRoutes installs new routing tables.
func (s *Switch) SetRoutes(t *route.Table) {
	s.routes = t
	s.router.Replace(t)
}

// Finish checks the counters at the end of a run.
func (s *Switch) Finish(now units.Time) {
	if s.checks != nil {
		s.checks.balance(now, s.ledger)
	}
}
