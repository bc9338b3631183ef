package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/run"
)

// Simulate makes the runner simulate its points in this process with the given options.
func (r *Runner) Simulate(o run.Options) {
	r.Build = func(plan fabric.Plan) (*fabric.Fabric, error) {
		try, err := start(plan, o) // the engine finds further mistakes
		if err != nil {
			return nil, err
		}
		return try.Fabric, nil
	}
	r.Run = func(ctx context.Context, job *Job) (run.Verdict, error) { return Simulate(ctx, job, o) }
}

// start builds a plan and prepares its run.
func start(plan fabric.Plan, o run.Options) (*run.Run, error) {
	built, err := plan.Build(o.BuildOptions())
	if err != nil {
		return nil, err
	}
	return run.Prepare(built, o)
}

// Settings are the run options that are sent to other machines.
type Settings struct {
	Engine     string `json:"engine"`
	Invariants string `json:"invariants"`
	CSV        bool   `json:"csv"`
	FlowTrace  bool   `json:"flow_trace"`
}

// SettingsOf returns the settings of options.
func SettingsOf(o *run.Options) Settings {
	return Settings{Engine: string(o.Engine), Invariants: string(o.Invariants), CSV: o.CSV, FlowTrace: o.FlowTrace}
}

// Options returns run options with these settings.
func (s *Settings) Options() run.Options {
	return run.Options{Engine: run.Engine(s.Engine), Invariants: run.Invariants(s.Invariants), CSV: s.CSV, FlowTrace: s.FlowTrace, WindowDivisor: 1}
}

// OptionsKey returns the options that affect results, as text for Key.Options.
func OptionsKey(o *run.Options) string {
	return fmt.Sprintf("csv=%t flow_trace=%t invariants=%s engine=%s", o.CSV, o.FlowTrace, o.Invariants, o.Engine)
}

// reportEvery is the minimum time between progress reports of a point.
const reportEvery = 100 * time.Millisecond

// Simulate runs one point and writes its results.
func Simulate(ctx context.Context, job *Job, o run.Options) (run.Verdict, error) {
	o.Folder, o.Workers = job.Folder, job.Workers
	var last time.Time
	o.Progress = func(p run.Progress) {
		if t := time.Now(); t.Sub(last) >= reportEvery {
			last = t
			job.Report(p.Share(), p.Hops())
		}
	}
	plan, err := job.Point.layOut()
	if err != nil {
		return run.Verdict{}, err
	}
	job.Point.plan = nil
	r, err := start(plan, o)
	if err != nil {
		return run.Verdict{}, err
	}
	if job.Check {
		hash, err := hashScenario(r.Fabric)
		if err != nil {
			return run.Verdict{}, err
		}
		if hash != job.Point.Key.Scenario {
			return run.Verdict{}, fmt.Errorf("scenario has hash %s (expected %s as planned)", hash, job.Point.Key.Scenario)
		}
	}
	done, err := r.Start(ctx)
	if err != nil || ctx.Err() != nil {
		return run.Verdict{}, errors.Join(err, ctx.Err())
	}
	job.Report(1, done.Summary.Network.Hops)
	if done.Unwritten != nil {
		return run.Verdict{}, &run.WriteError{Err: done.Unwritten}
	}
	return done.Found(), nil
}
