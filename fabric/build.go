// Package fabric makes a run of a scenario: a fabric of switches, hosts and cables, the
// flows on it, the probes that watch it, and the rule by which it ends.
package fabric

import (
	"errors"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/model/ideal"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/model/validate"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Fabric is a scenario ready to run.
type Fabric struct {
	Plan      Plan
	Config    *scenario.Config
	Graph     *topo.Graph
	Spec      *sim.Spec
	Flows     *dataplane.Flows
	Waits     []dataplane.Wait    // what flows wait for, by flow
	Workloads []string            // names that results are divided by
	Origin    []int32             // of each flow: index of its workload
	Groups    []int32             // of each flow: burst of an incast, -1 otherwise
	Ideal     []units.Time        // of each flow: its completion time in an empty network
	Checks    []*dataplane.Checks // nil when invariants are off
	Probes    []*metrics.Series
	Expect    []Expectation // what the run must show

	first   []int32  // of each flow: by whose start it counts; nil: by its own
	awaited []int32  // flows that the stop rule waits for
	endless []string // workloads whose flows are meant to outlast the run
}

// Options are choices of a run that change no result.
type Options struct {
	Invariants bool
	// Sink returns the probe of a node; it may be nil.
	Sink func(node int) probe.Sink
	// Here says which nodes this process drives, if others drive the rest; nil: all. Of flows
	// that begin elsewhere nobody here knows when they are done, so the run ends at at_most.
	Here []bool
}

// Plan is a valid scenario that is laid out: every switch, host, port and cable with its
// settings, but no flows. Checks and runs of the same scenario share one.
type Plan struct{ *layout.Layout }

// NewPlan validates a scenario beyond what decoding can (ranges, names that refer to each
// other, what fits into what) and lays it out. The scenario must not change afterwards.
func NewPlan(cfg *scenario.Config) (Plan, error) {
	l, err := validate.Scenario(cfg)
	return Plan{l}, err
}

// builder wires one scenario. Errors name the scenario key they come from.
type builder struct {
	*layout.Layout
	*layout.Traffic
	opts     Options
	out      *Fabric
	watching []probe.Fan // by node; nil when nothing watches
}

// New validates a scenario, lays it out and builds it.
func New(cfg *scenario.Config, opts Options) (*Fabric, error) {
	p, err := NewPlan(cfg)
	if err != nil {
		return nil, err
	}
	return p.Build(opts)
}

// Build makes the switches, hosts and flows of a run.
func (p Plan) Build(opts Options) (*Fabric, error) {
	b, err := p.prepare(opts)
	if err != nil {
		return nil, err
	}
	b.out.Ideal, b.out.first = ideal.FCTs(b.Layout, b.Traffic), b.first()
	b.out.Spec.Done, b.out.Spec.DoneAt = b.done(), b.doneAt()
	if opts.Here != nil {
		b.out.Spec.Done = nil
	}
	return b.out, nil
}

// Refuses returns the error of Build, or of the engine, for a scenario that cannot run,
// without the ideal completion times, which take long.
func (p Plan) Refuses() error {
	b, err := p.prepare(Options{})
	if err == nil {
		_, err = sim.NewFast(b.out.Spec, sim.Options{})
	}
	return err
}

// prepare makes all but what depends on ideal completion times.
func (p Plan) prepare(opts Options) (*builder, error) {
	b := &builder{Layout: p.Layout, opts: opts, out: &Fabric{Plan: p, Config: p.Config, Graph: p.Graph}}
	if err := b.build(); err != nil {
		return nil, p.Config.Locate(err)
	}
	return b, nil
}

func (b *builder) build() error {
	cfg, out := b.Config, b.out
	var err error
	if b.Traffic, err = b.Layout.Traffic(); err != nil {
		return err
	}
	out.Flows, out.Waits, out.Workloads, out.Origin, out.Groups = b.Flows, b.Waits, b.Workloads, b.Origin, b.Groups
	out.endless = b.Endless
	if err := b.checkAnyFlow(); err != nil {
		return err
	}
	spec := &sim.Spec{
		Flows: b.Flows, Seed: cfg.Seed, MinFrame: b.MinFrame(), InsertionOrder: cfg.Compat.Ties == "insertion", Until: cfg.Run.Stop.AtMost,
		WatchDeadlocks: cfg.Output.Deadlocks, StopAtDeadlock: cfg.Run.Stop.Deadlock, LogPauses: cfg.Output.PauseTree,
	}
	out.Spec = spec
	b.cables(spec)
	if err := b.probes(spec); err != nil {
		return err
	}
	if err := b.switches(spec); err != nil {
		return err
	}
	if err := b.hosts(spec); err != nil {
		return err
	}
	return b.expect()
}

// cables wires the links, with their faults.
func (b *builder) cables(spec *sim.Spec) {
	for _, l := range b.Graph.Links {
		c := sim.Cable{
			A: sim.End{Node: l.A, Port: l.PortA}, B: sim.End{Node: l.B, Port: l.PortB}, Rate: l.Rate,
			AtoB: b.DelayInto(l.B, l.Delay), BtoA: b.DelayInto(l.A, l.Delay), Overhead: b.Config.Switch.WireOverhead,
		}
		spec.Cables = append(spec.Cables, c)
	}
	b.faults(spec)
}

func (b *builder) switches(spec *sim.Spec) error {
	tables := b.Routes(b.Traffic, nil)
	for node := b.Graph.Hosts; node < b.Graph.Nodes(); node++ {
		s, err := b.Switch(node, tables[node])
		if err != nil {
			return err
		}
		s.Sink, s.Checks = b.sink(node), b.checks(node)
		spec.Switches = append(spec.Switches, s)
	}
	return nil
}

func (b *builder) hosts(spec *sim.Spec) error {
	list, err := b.NICs(b.Traffic)
	for _, s := range list {
		s.Sink, s.Checks = b.sink(int(s.Node)), b.checks(int(s.Node))
	}
	spec.Hosts = list
	return err
}

func (b *builder) checks(node int) *dataplane.Checks {
	if !b.opts.Invariants {
		return nil
	}
	c := dataplane.NewChecks(b.Graph.Names[node])
	b.out.Checks = append(b.out.Checks, c)
	return c
}

// errIdle is what is wrong with a run that would end as soon as it begins.
var errIdle = errors.New("the run would end at once")

// checkAnyFlow checks that the run has something to wait for: without, it would
// end at 0 and look as if all went well.
func (b *builder) checkAnyFlow() error {
	flows := b.Flows
	if len(b.Config.Workload) == 0 {
		return yaml.Atf("workload", "%w: there is no workload; allowed: at least one generator of flows", errIdle)
	}
	if len(flows.Flow) == 0 {
		return yaml.Atf("workload", "%w: no flow starts in %s; allowed: a longer run.arrivals, or a higher load", errIdle,
			b.Config.Run.Arrivals)
	}
	if b.Config.Run.Stop.When != "measured_flows_done" {
		return nil
	}
	for i := range flows.Flow {
		if flows.Waits(i) || b.Measured(flows.Flow[i].Start) {
			return nil
		}
	}
	return yaml.Atf("run.measure", "%w: none of the %d flows starts in the measured time; allowed: a time in which flows start", errIdle, len(flows.Flow))
}
