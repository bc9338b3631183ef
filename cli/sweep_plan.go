package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/cluster"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

// planFlags are the flags of `xoff sweep plan`.
type planFlags struct {
	sweepFlags
	slurm, kubernetes bool
	size              sweep.Sizing
	pilot             int
	image, claim      string
}

func (a *app) sweepPlanCommand() *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan FILE --vary KEY=a,b,c ... [--slurm | --k8s]",
		Short: "Divide a sweep into tasks for a cluster",
		Long: `Run a few points to measure their time and memory, and divide all points into tasks of
some minutes. Write FOLDER-plan next to the results folder: plan.json, for xoff sweep
--plan plan.json --shard task; with --slurm, the scripts of an array job; with --k8s,
the manifests of an Indexed Job.

  xoff sweep plan mine.yaml --vary switch.policy.alpha=1/16,1/8,1/4 --seeds 500 --slurm
  results/mine-sweep-plan/submit.sh`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.planSweep(cmd, args[0], f)
		},
	}
	f.register(cmd)
	registerResume(cmd, &f.sweepFlags)
	flags := cmd.Flags()
	flags.BoolVar(&f.slurm, "slurm", false, "write array.sbatch, merge.sbatch, and submit.sh, which submits both")
	flags.BoolVar(&f.kubernetes, "k8s", false, "write job.yaml and merge.yaml")
	flags.IntVar(&f.size.Tasks, "tasks", 0, "number `N` of tasks (default: chosen by --task-time)")
	flags.DurationVar(&f.size.TaskTime, "task-time", 10*time.Minute, "target `TIME` of a task")
	flags.IntVar(&f.size.CPUs, "cpus", 1, "number `N` of cores per task")
	flags.IntVar(&f.pilot, "pilot", 3, "number `N` of points to run now, to measure time and memory; 0: jobs get no time and memory limits")
	flags.StringVar(&f.image, "image", "", "with --k8s: container `IMAGE` with this xoff in its PATH (required)")
	flags.StringVar(&f.claim, "claim", "xoff", "with --k8s: `NAME` of the volume claim with the plan and results folders")
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-sweep); the plan goes to FOLDER-plan")
	a.simulationFlags(cmd)
	return cmd
}

func (f *planFlags) check() error {
	for _, c := range []struct {
		flag  string
		value int
		least int
	}{{"tasks", f.size.Tasks, 0}, {"cpus", f.size.CPUs, 1}, {"pilot", f.pilot, 0}} {
		if c.value < c.least {
			return failf(exitInput, "--%s is %d (expected %d or more)", c.flag, c.value, c.least)
		}
	}
	switch {
	case f.size.TaskTime < time.Second:
		return failf(exitInput, "--task-time is %s (expected 1s or more)", f.size.TaskTime)
	case f.pilot == 0 && f.size.Tasks == 0:
		return failf(exitInput, "--pilot 0 needs --tasks N")
	case f.kubernetes && f.image == "":
		return failf(exitInput, "--k8s needs --image IMAGE, a container with this xoff")
	case f.image != "" && !f.kubernetes:
		return failf(exitInput, "--image needs --k8s")
	}
	return f.varies()
}

// planned is the document that `xoff sweep plan --json` prints.
type planned struct {
	Plan   string `json:"plan"`
	Folder string `json:"folder"`
	Points int    `json:"points"`
	sweep.Load
	Files []string `json:"files"`
	about []string
}

// planSweep divides the points of a sweep into tasks and writes the plan.
func (a *app) planSweep(cmd *cobra.Command, file string, f *planFlags) error {
	p, err := a.prepareSweep(cmd, file, &f.sweepFlags, "sweep")
	if err != nil {
		return err
	}
	if err := a.openSweep(p, sweep.Opening{Resume: f.resume, Force: f.run.force}); err != nil {
		return err
	}
	defer p.runner.Store.Close()
	folder, err := filepath.Abs(p.runner.Store.Folder)
	if err != nil {
		return wrap(exitFailure, err)
	}
	planFolder := folder + "-plan"
	if err := disk.Prepare(planFolder); err != nil {
		return wrap(exitFailure, err)
	}
	samples, err := p.runner.Pilot(cmd.Context(), p.grid, p.points, f.pilot, &p.options, planFolder, func(i, of int, q *sweep.Point) {
		p.meter.show(func(time.Duration) string { return fmt.Sprintf("pilot run %d of %d: %s", i+1, of, q.Label) })
	})
	p.meter.clear()
	if err != nil {
		if cmd.Context().Err() != nil {
			return failf(exitInterrupted, "interrupted: no plan was written")
		}
		return wrap(exitFailure, err)
	}
	out := &planned{Plan: filepath.Join(planFolder, "plan.json"), Folder: p.runner.Store.Folder, Points: len(p.points), Load: f.size.Size(p.points, samples)}
	plan, err := sweep.NewPlan(p.grid, p.points, out.Tasks, &p.options)
	if err != nil {
		return wrap(exitFailure, err)
	}
	plan.Results, plan.Report = filepath.Join("..", filepath.Base(folder)), f.run.report
	f.size.Deal(&out.Load, plan)
	if err := errors.Join(plan.Write(out.Plan), f.writeJobs(out, p.grid, planFolder, folder), p.runner.Store.Replan(plan)); err != nil {
		return wrap(exitFailure, err)
	}
	return wrap(exitFailure, a.printPlan(out, p))
}

// writeJobs writes the job files for Slurm and Kubernetes.
func (f *planFlags) writeJobs(out *planned, g *sweep.Grid, planFolder, results string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	base, err := g.Base()
	if err != nil {
		return err
	}
	job := &cluster.Job{
		Name: "xoff-" + base.Name, Tasks: out.Tasks, CPUs: f.size.CPUs, Time: out.TimeLimit(), Memory: out.Memory, Merge: out.MergeMemory(out.Points),
		Program: program, Plan: out.Plan, Results: results, Logs: filepath.Join(planFolder, "log"), Image: f.image, Claim: f.claim,
	}
	files, err := job.Write(planFolder, f.slurm, f.kubernetes)
	for _, file := range files {
		out.Files, out.about = append(out.Files, file.Path), append(out.about, file.About)
	}
	return err
}

func (a *app) printPlan(out *planned, p *prepared) error {
	if a.json {
		return a.printJSON(out)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("%d points in %d tasks", out.Points, out.Tasks)
	if out.Seconds > 0 {
		w.line("about %s on one core, %s for the longest task", roughly(out.Seconds), roughly(out.Longest))
	}
	if out.Memory > 0 {
		w.line("%d MiB of memory per task", out.Memory>>20)
	}
	w.line("")
	w.line("  %s\twhich task computes which point", out.Plan)
	for i, f := range out.Files {
		w.line("  %s\t%s", f, out.about[i])
	}
	w.line("  %s\tresults", p.runner.Store.Folder)
	return w.flush()
}

// roughly rounds an estimated time.
func roughly(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}
