package run

import (
	"context"
	"errors"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
)

// alone runs each job without other workloads if the scenario asks for it, and adds the
// slowdown to the summary. An interrupted run leaves it out.
func (r *Run) alone(ctx context.Context, s *metrics.Summary) error {
	built := r.Fabric
	if !built.Config.Output.Alone || len(built.Config.Workload) < 2 {
		return nil
	}
	for _, j := range built.Jobs {
		f, err := built.Plan.Build(fabric.Options{Only: j.Name})
		if err != nil {
			return err
		}
		only := &Run{Fabric: f, cancel: r.cancel, opts: Options{Engine: r.opts.Engine, Workers: r.opts.Workers, WindowDivisor: r.opts.WindowDivisor,
			Progress: r.opts.Progress}}
		if err := only.drive(); err != nil {
			return err
		}
		if _, err := only.engine.Run(ctx); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		s.SetAlone(j.Name, f.Jobs[0])
	}
	return nil
}
