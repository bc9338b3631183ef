package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/flowctl"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/registry"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/units"
)

// engine is what runs a built scenario.
type engine interface {
	Run(ctx context.Context) (units.Time, error)
	Totals() sim.Totals
}

// runFlags are the flags of commands that run a scenario.
type runFlags struct {
	invariants string
	engine     string
	ties       string
	divisor    int
	csv        bool
	set        []string

	cc, policy, flowControl string
}

// Values of --invariants.
const (
	invariantsOff    = "off"
	invariantsCount  = "count"
	invariantsStrict = "strict"
)

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.invariants, "invariants", invariantsOff, "check the simulation while it runs: off, count, or strict (stop at the first that breaks)")
	flags.StringVar(&f.engine, "engine", "fast", "fast, or oracle (one global heap; slow, same results)")
	flags.StringVar(&f.ties, "ties", "key", "order of simultaneous events of the oracle: key (as the fast engine), or insertion (as ns-3)")
	flags.BoolVar(&f.csv, "csv", false, "write flows.csv too")
	flags.IntVar(&f.divisor, "window-divisor", 1, "shorten the windows of the fast engine; results never depend on it")
	_ = flags.MarkHidden("window-divisor")
	flags.StringArrayVar(&f.set, "set", nil, "override a key of the scenario: path=value, such as switch.policy.alpha=1/8 (repeatable)")
	registerSchemes(cmd, &f.cc, &f.policy, &f.flowControl)
}

// registerSchemes adds the flags that replace schemes of a scenario.
func registerSchemes(cmd *cobra.Command, cc, policy, flowControl *string) {
	cmd.Flags().StringVar(cc, "cc", "", "congestion control to use instead (see xoff list cc)")
	cmd.Flags().StringVar(policy, "policy", "", "buffer policy to use instead (see xoff list policy)")
	cmd.Flags().StringVar(flowControl, "flow-control", "", "flow control to use instead (see xoff list flow_control)")
}

// check rejects values that are not allowed.
func (f *runFlags) check() error {
	for _, c := range []struct {
		flag, value string
		allowed     [3]string
	}{
		{"invariants", f.invariants, [3]string{invariantsOff, invariantsCount, invariantsStrict}},
		{"engine", f.engine, [3]string{"fast", "oracle"}},
		{"ties", f.ties, [3]string{"key", "insertion"}},
	} {
		ok := false
		list := ""
		for _, a := range c.allowed {
			if a != "" {
				ok = ok || a == c.value
				list += ", " + a
			}
		}
		if !ok {
			return failf(exitInput, "--%s is %q; allowed: %s", c.flag, c.value, list[2:])
		}
	}
	if f.ties != "key" && f.engine != "oracle" {
		return failf(exitInput, "--ties %s needs --engine oracle", f.ties)
	}
	if f.divisor < 1 {
		return failf(exitInput, "--window-divisor is %d; allowed: 1 or more", f.divisor)
	}
	return nil
}

// apply changes a scenario as the flags say.
func (f *runFlags) apply(cfg *scenario.Config) error {
	for _, s := range []struct {
		kind, name string
		to         *scenario.Choice
	}{{"cc", f.cc, &cfg.Hosts.CC}, {"policy", f.policy, &cfg.Switch.Policy}, {"flow_control", f.flowControl, &cfg.Switch.FlowControl}} {
		if s.name == "" {
			continue
		}
		choice, err := scenario.Choose(s.kind, s.name)
		if err != nil {
			return wrap(exitInput, err)
		}
		*s.to = choice
	}
	return nil
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario file",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			cfg, err := scenario.ReadFile(args[0], f.set...)
			if err != nil {
				return wrap(exitInput, err)
			}
			_, err = a.simulate(cmd, cfg, f)
			return err
		},
	}
	f.register(cmd)
	return cmd
}

// finished is a run whose results are written.
type finished struct {
	summary *metrics.Summary
	folder  string
}

// simulate runs a scenario, writes its results and prints them.
func (a *app) simulate(cmd *cobra.Command, cfg *scenario.Config, f *runFlags) (*finished, error) {
	if a.workers < 1 {
		return nil, failf(exitInput, "--workers is %d; allowed: 1 or more", a.workers)
	}
	if err := f.apply(cfg); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("seed") {
		cfg.Seed = a.seed
	}
	built, err := scenario.Build(cfg, scenario.BuildOptions{Invariants: f.invariants != invariantsOff})
	if err != nil {
		return nil, wrap(exitInput, cfg.Locate(err))
	}
	folder := a.folder
	if folder == "" {
		folder = filepath.Join("results", fmt.Sprintf("%s-seed%d", cfg.Name, cfg.Seed))
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	p := newProgress(a, built)
	hook := p.hook()
	if f.invariants == invariantsStrict {
		hook = stopWhenBroken(built, cancel, hook)
	}
	e, err := newEngine(built.Spec, f, a.workers, hook)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	results, err := newResults(folder) // now, rather than after an hour of work
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	start := time.Now()
	end, err := e.Run(ctx)
	wall := time.Since(start)
	p.clear()
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, wrap(exitFailure, err)
	}
	outcome := built.Outcome(end, e.Totals(), err != nil)
	summary := outcome.Summarize()
	if err := results.write(outcome, summary, cfg, f.csv); err != nil {
		return nil, wrap(exitFailure, err)
	}
	if err := a.print(built, summary, results, wall); err != nil {
		return nil, wrap(exitFailure, err)
	}
	return &finished{summary, folder}, verdict(cmd.Context(), cfg, summary, f.invariants, folder)
}

// newEngine builds the chosen engine.
func newEngine(spec *sim.Spec, f *runFlags, workers int, progress func(units.Time)) (engine, error) {
	if f.engine == "oracle" {
		return sim.NewOracle(spec, sim.OracleOptions{InsertionOrder: f.ties == "insertion", Progress: progress})
	}
	return sim.NewFast(spec, sim.Options{Workers: workers, WindowDivisor: f.divisor, Progress: progress})
}

// stopWhenBroken ends the run at the next check after an invariant broke.
func stopWhenBroken(b *scenario.Built, cancel context.CancelCauseFunc, next func(units.Time)) func(units.Time) {
	return func(now units.Time) {
		for _, c := range b.Checks {
			if c.Broken > 0 {
				cancel(errors.New(c.First))
			}
		}
		if next != nil {
			next(now)
		}
	}
}

// verdict turns what the run found into an exit code.
func verdict(ctx context.Context, cfg *scenario.Config, s *metrics.Summary, invariants, folder string) error {
	if ctx.Err() != nil {
		return failf(exitInterrupted, "interrupted at %s of simulated time; partial results are in %s", human(s.End), folder)
	}
	if invariants == invariantsStrict && s.Invariants.Broken > 0 {
		return failf(exitBroken, "broken invariant: %s", s.Invariants.First)
	}
	scheme, err := flowctl.Schemes.Get(cfg.Switch.FlowControl.Name)
	if err != nil {
		return wrap(exitInput, err)
	}
	if s.Drops.Lossless > 0 && scheme.Promises&registry.Lossless != 0 {
		return failf(exitBroken, "%d frames of lossless classes were dropped, but flow control %s promises that none is", s.Drops.Lossless, scheme.Name)
	}
	return nil
}
