package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// shardFlags select a part of the points.
type shardFlags struct {
	shard string
	plan  string
}

func registerShard(cmd *cobra.Command, shard *string) {
	cmd.Flags().StringVar(shard, "shard", "", "`I/N`, the part of the points to compute: 0/8 to 7/8; task/N or task take the index from the Slurm array or the Indexed Job (default: all points)")
}

func (f *shardFlags) register(cmd *cobra.Command) {
	registerShard(cmd, &f.shard)
	cmd.Flags().StringVar(&f.plan, "plan", "", "`PLAN` file of xoff sweep plan, which replaces FILE, --vary and --seeds")
}

// taskFlags are the flags allowed with --plan: they do not affect results.
var taskFlags = []string{"plan", "shard", "output", "workers", "quiet", "json", "force", "point-limit"}

// checkPlanned rejects arguments and flags that the plan sets.
func (f *shardFlags) checkPlanned(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failf(exitInput, "--plan cannot be combined with a scenario file: found %s (expected xoff sweep --plan FILE --shard I/N)", args[0])
	}
	if f.shard == "" {
		return failf(exitInput, "--plan needs --shard I/N or --shard task")
	}
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(taskFlags, flag.Name) {
			err = failf(exitInput, "--%s cannot be combined with --plan (allowed: --%s)", flag.Name, strings.Join(taskFlags, ", --"))
		}
	})
	return err
}

// taskResult is the document that a task prints with --json.
type taskResult struct {
	Task   int                 `json:"task"`
	Of     int                 `json:"of"`
	Folder string              `json:"folder"`
	Points int                 `json:"points"`
	Reused int                 `json:"reused"`
	Failed []sweep.FailedPoint `json:"failed"`
}

// plannedTask computes the points of one task of a plan.
func (a *app) plannedTask(cmd *cobra.Command, f *sweepFlags) error {
	plan, err := sweep.ReadPlan(f.plan)
	if err != nil {
		return wrap(exitInput, err)
	}
	shard, err := sweep.ParseShard(f.shard, plan.Tasks, os.Getenv)
	if err != nil {
		return failf(exitInput, "--shard: %w", err)
	}
	if err := plan.CheckProgram(); err != nil {
		return wrap(exitInput, err)
	}
	if err := a.startRuns(); err != nil {
		return err
	}
	folder := a.folder
	if folder == "" {
		if folder = plan.Results; !filepath.IsAbs(folder) {
			folder = filepath.Join(filepath.Dir(f.plan), folder)
		}
	}
	m := a.newMeter()
	r := a.newRunner(folder, m)
	if r.Limit, err = pointLimit(cmd); err != nil {
		return err
	}
	r.Simulate(plan.Options())
	points, err := r.ReadyTask(cmd.Context(), plan, shard)
	if err != nil {
		return prepareError(cmd, err)
	}
	return a.runTask(cmd, r, m, plan, shard, points, f.run.force)
}

// shardTask computes one shard of the points of a command line. It prepares all points, so
// that every task divides them in the same way.
func (a *app) shardTask(cmd *cobra.Command, file string, f *sweepFlags) error {
	shard, err := sweep.ParseShard(f.shard, 0, os.Getenv)
	if err != nil {
		return failf(exitInput, "--shard: %w", err)
	}
	p, err := a.prepareSweep(cmd, file, f, "sweep")
	if err != nil {
		return err
	}
	plan, err := sweep.NewPlan(p.grid, p.points, shard.Of, &p.options)
	if err != nil {
		return wrap(exitInput, err)
	}
	plan.Report = f.run.report
	return a.runTask(cmd, p.runner, p.meter, plan, shard, plan.Own(p.points, shard), f.run.force)
}

// runTask computes the points of a task. Other tasks may write to the same folder.
func (a *app) runTask(cmd *cobra.Command, r *sweep.Runner, m *meter, plan *sweep.Plan, shard sweep.Shard, points []*sweep.Point, force bool) error {
	m.restart()
	task, rows, err := r.Task(cmd.Context(), plan, shard, points, force, os.Getenv)
	m.clear()
	switch {
	case errors.Is(err, sweep.ErrExists):
		return wrap(exitInput, err)
	case err != nil && rows != nil:
		return sweepError(cmd.Context(), err, rows, r.Store.Folder, "the same command continues")
	case err != nil:
		return wrap(exitFailure, err)
	}
	return a.finishTask(task, rows, r.Store.Folder)
}

// finishTask prints the result of a task. It returns an error with the exit code of the
// worst point.
func (a *app) finishTask(task *sweep.Task, rows []sweep.Row, folder string) error {
	failed, code := sweep.FailedPoints(rows)
	done := taskResult{Task: task.Task, Of: task.Of, Folder: folder, Points: len(rows), Reused: task.Reused, Failed: failed}
	switch {
	case a.json:
		if err := a.printJSON(&done); err != nil {
			return wrap(exitFailure, err)
		}
	case !a.quiet:
		reused := ""
		if done.Reused > 0 {
			reused = fmt.Sprintf(" (%d reused)", done.Reused)
		}
		fmt.Fprintf(a.out, "task %d/%d: %d points%s in %s\n", task.Task, task.Of, len(rows), reused, folder)
	}
	if code == 0 {
		return nil
	}
	return failf(code, "%d of %d points failed; first: %s: %s", len(done.Failed), len(rows), done.Failed[0].Point, done.Failed[0].Message)
}

// newRunner returns a runner that shows its progress on a meter.
func (a *app) newRunner(folder string, m *meter) *sweep.Runner {
	return &sweep.Runner{
		Store: sweep.Store{Folder: folder}, Workers: a.workers,
		Progress: func(p sweep.Progress) {
			m.show(func(passed time.Duration) string { return sweepLine(p, passed) })
		},
	}
}

// prepareError describes an error or interruption during the preparation of points.
func prepareError(cmd *cobra.Command, err error) error {
	if cmd.Context().Err() != nil {
		return failf(exitInterrupted, "interrupted before the first point")
	}
	return wrap(exitInput, err)
}
