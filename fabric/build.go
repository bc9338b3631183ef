// Package fabric builds the switches, hosts, cables, flows, probes and stop rule of a scenario,
// for package run, `xoff check` and live switches.
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
	"github.com/xoff-net/xoff/job"
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
	Workloads []string            // names of workloads in results
	Origin    []int32             // by flow: index of its workload
	Groups    []int32             // by flow: burst of an incast; -1 otherwise
	Ideal     []units.Time        // by flow: completion time in an empty network
	Jobs      []*job.Job          // in the order of their workloads
	Checks    []*dataplane.Checks // nil if invariants are off
	Probes    []*metrics.Series
	Expect    []Expectation // conditions that the results must meet

	first   []int32  // by flow: flow whose start decides whether it is measured; nil: its own
	awaited []int32  // flows that the stop rule waits for
	endless []string // workloads whose flows are meant to outlast the run
}

// Options configure how a scenario is built. They change no result.
type Options struct {
	Invariants bool
	// Sink returns an additional sink for the events of a node. It may be nil.
	Sink func(node int) probe.Sink
	// Only is the name of the only workload that has flows, without probes; empty: all have.
	Only string
	// Here marks the nodes that this process drives if others drive the rest; nil means
	// all. This process cannot know when flows of other nodes are done, so the run then ends
	// at at_most.
	Here []bool
}

// Plan is the layout of a valid scenario: every switch, host, port and cable with its
// settings, but no flows. Checks and runs of the same scenario can share it.
type Plan struct{ *layout.Layout }

// NewPlan validates a scenario and lays it out. It checks what decoding cannot: ranges,
// references between names, and sizes that must fit. The scenario must not change
// afterwards.
func NewPlan(cfg *scenario.Config) (Plan, error) {
	l, err := validate.Scenario(cfg)
	return Plan{l}, err
}

// builder builds one scenario. Its errors name the scenario key that causes them.
type builder struct {
	*layout.Layout
	*layout.Traffic
	opts     Options
	out      *Fabric
	watching []probe.Fan // sinks of probes, by node; nil without probes of events
}

// New validates a scenario, lays it out and builds it.
func New(cfg *scenario.Config, opts Options) (*Fabric, error) {
	p, err := NewPlan(cfg)
	if err != nil {
		return nil, err
	}
	return p.Build(opts)
}

// Build returns the switches, hosts and flows of a run.
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

// CheckBuild returns the error of Build, or of the engine, for a scenario that cannot run.
// It skips the ideal completion times, which take long to compute.
func (p Plan) CheckBuild() error {
	b, err := p.prepare(Options{})
	if err == nil {
		_, err = sim.NewFast(b.out.Spec, sim.Options{})
	}
	return err
}

// prepare builds everything that does not depend on ideal completion times.
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
	if b.Traffic, err = b.Layout.Traffic(b.opts.Only); err != nil {
		return err
	}
	out.Flows, out.Workloads, out.Origin, out.Groups = b.Flows, b.Workloads, b.Origin, b.Groups
	out.endless, out.Jobs = b.Endless, b.Jobs
	if err := b.checkAnyFlow(); err != nil {
		return err
	}
	spec := &sim.Spec{
		Flows: b.Flows, Seed: cfg.Seed, MinFrame: b.MinFrame(), InsertionOrder: cfg.Compat.Ties == "insertion", Until: cfg.Run.Stop.AtMost,
		WatchDeadlocks: cfg.Output.Deadlocks, StopAtDeadlock: cfg.Run.Stop.Deadlock, LogPauses: cfg.Output.PauseTree,
	}
	if b.opts.Only != "" {
		spec.WatchDeadlocks, spec.LogPauses = false, false
	}
	out.Spec = spec
	for _, j := range b.Jobs {
		if j.ScaleUp.Rate > 0 {
			spec.NoticeDelay = j.ScaleUp.Latency
		}
	}
	b.cables(spec)
	if b.opts.Only == "" {
		if err := b.probes(spec); err != nil {
			return err
		}
	}
	if err := b.switches(spec); err != nil {
		return err
	}
	if err := b.hosts(spec); err != nil {
		return err
	}
	return b.expect()
}

// cables adds the cables and their faults.
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

// errIdle is the error for a run without flows to wait for.
var errIdle = errors.New("the run would end at once")

// checkAnyFlow checks that the stop rule has a flow to wait for. Otherwise the run would
// end at 0 and look successful.
func (b *builder) checkAnyFlow() error {
	flows := b.Flows
	if len(b.Config.Workload) == 0 {
		return yaml.Atf("workload", "%w: there is no workload (expected at least one)", errIdle)
	}
	if len(flows.Flow) == 0 && len(b.Jobs) == 0 {
		return yaml.Atf("workload", "%w: no flow starts in %s; fix: increase run.arrivals or the load", errIdle,
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
	if len(flows.Flow) == 0 {
		return nil
	}
	return yaml.Atf("run.measure", "%w: none of the %d flows starts in the measurement window (expected at least one)", errIdle, len(flows.Flow))
}
