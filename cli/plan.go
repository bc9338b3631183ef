package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/cluster"
	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/sweep"
)

// planFlags are the flags of `xoff sweep plan`.
type planFlags struct {
	sweepFlags
	slurm, kubernetes bool
	tasks, cpus       int
	pilot             int
	taskTime          time.Duration
	image, claim      string
}

// maxTasks is how many tasks an array has at most, unless more are asked for: Slurm
// allows 1001 by default.
const maxTasks = 1000

func (a *app) sweepPlanCommand() *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan FILE --vary KEY=a,b,c ... [--slurm | --k8s]",
		Short: "Divide a sweep into tasks for a cluster",
		Long: `Runs a few points to see how long they take and how much memory, deals all points to
tasks of some minutes, and writes FOLDER-plan beside the folder of results: plan.json,
for xoff sweep --plan plan.json --shard task, and with --slurm the scripts of an array
job, with --k8s the manifest of an Indexed Job.

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
	flags.IntVar(&f.tasks, "tasks", 0, "`N` tasks (default: by --task-time)")
	flags.DurationVar(&f.taskTime, "task-time", 10*time.Minute, "target `TIME` of a task")
	flags.IntVar(&f.cpus, "cpus", 1, "`N` cores of a task")
	flags.IntVar(&f.pilot, "pilot", 3, "`N` points that run now, to see how long they take; 0: none, and no limits of time and memory")
	flags.StringVar(&f.image, "image", "", "with --k8s: container `IMAGE`, with this xoff in its path")
	flags.StringVar(&f.claim, "claim", "xoff", "with --k8s: claim `NAME` of the volume that holds the folders of the plan and of the results")
	a.outputFlag(cmd, "`FOLDER` for results (default results/NAME-sweep); the plan goes to FOLDER-plan")
	a.simulationFlags(cmd)
	return cmd
}

func (f *planFlags) check() error {
	for _, c := range []struct {
		flag  string
		value int
		least int
	}{{"tasks", f.tasks, 0}, {"cpus", f.cpus, 1}, {"pilot", f.pilot, 0}} {
		if c.value < c.least {
			return failf(exitInput, "--%s is %d; allowed: %d or more", c.flag, c.value, c.least)
		}
	}
	switch {
	case f.taskTime < time.Second:
		return failf(exitInput, "--task-time is %s; allowed: 1s or more", f.taskTime)
	case f.pilot == 0 && f.tasks == 0:
		return failf(exitInput, "--pilot 0 says nothing about time; allowed: --tasks N with it")
	case f.kubernetes && f.image == "":
		return failf(exitInput, "--k8s needs an image; allowed: --image NAME, of a container with this xoff")
	case f.image != "" && !f.kubernetes:
		return failf(exitInput, "--image is for Kubernetes; allowed: --k8s with it")
	}
	return f.varies()
}

// planned is what `xoff sweep plan` prints with --json.
type planned struct {
	Plan    string   `json:"plan"`
	Folder  string   `json:"folder"`
	Points  int      `json:"points"`
	Tasks   int      `json:"tasks"`
	Seconds float64  `json:"seconds"`      // of one core, all points; 0: nobody knows
	Longest float64  `json:"task_seconds"` // of the task that takes longest
	Memory  int64    `json:"memory_bytes"` // of a task; 0: nobody knows
	Files   []string `json:"files"`
	about   []string
}

// planSweep deals the points of a sweep to tasks.
func (a *app) planSweep(cmd *cobra.Command, file string, f *planFlags) error {
	p, err := a.prepareSweep(cmd, file, &f.sweepFlags, "sweep")
	if err != nil {
		return err
	}
	p.options.Report = f.run.report
	if err := a.openSweep(p, sweep.Opening{Resume: f.resume, Force: f.run.force}); err != nil {
		return err
	}
	defer p.runner.Store.Close()
	folder, err := filepath.Abs(p.runner.Store.Folder)
	if err != nil {
		return wrap(exitFailure, err)
	}
	below := folder + "-plan"
	if err := disk.Prepare(below); err != nil {
		return wrap(exitFailure, err)
	}
	samples, err := a.pilot(cmd.Context(), p, below, f.pilot)
	p.meter.clear()
	if err != nil {
		if cmd.Context().Err() != nil {
			return failf(exitInterrupted, "interrupted: nothing is planned")
		}
		return wrap(exitFailure, err)
	}
	out := &planned{Plan: filepath.Join(below, "plan.json"), Folder: p.runner.Store.Folder, Points: len(p.points)}
	f.size(out, p, samples)
	plan, err := sweep.NewPlan(p.grid, p.points, out.Tasks, &p.options)
	if err != nil {
		return wrap(exitFailure, err)
	}
	plan.Results = filepath.Join("..", filepath.Base(folder))
	if len(samples) > 0 {
		load := make([]float64, out.Tasks)
		for _, w := range plan.Work {
			load[w.Task] += w.Cost / float64(f.cpus)
			out.Longest = max(out.Longest, load[w.Task])
		}
	}
	if err := errors.Join(plan.Write(out.Plan), f.writeJobs(out, p.grid, below, folder), p.runner.Store.Replan(plan)); err != nil {
		return wrap(exitFailure, err)
	}
	return wrap(exitFailure, a.printPlan(out, p))
}

// pilot runs some points as tasks of their own, and keeps their results.
func (a *app) pilot(ctx context.Context, p *prepared, below string, n int) ([]sweep.PilotRun, error) {
	if n == 0 {
		return nil, nil
	}
	o := p.options
	single, err := sweep.NewPlan(p.grid, p.points, len(p.points), &o) // a point each
	if err != nil {
		return nil, err
	}
	aside := filepath.Join(below, disk.TempPrefix+"pilot")
	if err := errors.Join(os.RemoveAll(aside), os.Mkdir(aside, 0o755)); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(aside) }()
	file := filepath.Join(aside, "plan.json")
	if err := single.Write(file); err != nil {
		return nil, err
	}
	chosen := sweep.Pilots(p.points, n)
	cost := make(map[int]float64)
	for i, q := range chosen {
		p.meter.show(func(time.Duration) string { return fmt.Sprintf("pilot run %d of %d: %s", i+1, len(chosen), q.Label) })
		task := single.Work[q.Index].Task
		cost[task] = single.Work[q.Index].Cost
		if err := pilotTask(ctx, file, sweep.Shard{Index: task, Of: single.Tasks}, aside); err != nil {
			return nil, err
		}
	}
	if err := p.runner.Store.Join(aside, chosen); err != nil {
		return nil, err
	}
	records, err := sweep.ReadTasks(aside)
	if err != nil {
		return nil, err
	}
	var samples []sweep.PilotRun
	for _, r := range records {
		samples = append(samples, sweep.PilotRun{Cost: cost[r.Task], Seconds: r.Seconds(), Peak: r.Peak})
	}
	return samples, nil
}

// pilotTask runs one task in a process of its own, so that its memory can be told from
// that of planning.
func pilotTask(ctx context.Context, plan string, shard sweep.Shard, folder string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "sweep", "--plan", plan, "--shard", shard.String(), "--workers", "1", "--quiet", "-o", folder)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var told bytes.Buffer
	cmd.Stderr = &told
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) && (exit.ExitCode() == exitFailure || exit.ExitCode() == exitBroken):
		return nil // a point that fails takes its time, too
	case err != nil:
		return fmt.Errorf("pilot run: %w: %s", err, bytes.TrimSpace(told.Bytes()))
	}
	return nil
}

// size decides how many tasks there are, and what each needs.
func (f *planFlags) size(out *planned, p *prepared, samples []sweep.PilotRun) {
	if len(samples) > 0 {
		for _, q := range p.points {
			q.Cost = sweep.Estimate(samples, q.Cost)
			out.Seconds += q.Cost
		}
	}
	out.Tasks = f.tasks
	if out.Tasks == 0 {
		out.Tasks = int(math.Ceil(out.Seconds / float64(f.cpus) / f.taskTime.Seconds()))
		out.Tasks = min(max(out.Tasks, 1), maxTasks)
	}
	out.Tasks = min(out.Tasks, len(p.points))
	for _, s := range samples {
		if s.Peak == 0 {
			out.Memory = 0
			return
		}
		out.Memory = max(out.Memory, taskMemory(s.Peak, f.cpus))
	}
}

// taskMemory is what a task may take whose points took so much at the peak: every core
// has a point, and half as much again for those that were not tried.
func taskMemory(peak int64, cpus int) int64 {
	const step = 64 << 20
	need := peak*int64(cpus)*3/2 + step
	return (need + step - 1) / step * step
}

// mergeMemory is what a merge may take of tasks that take so much. It computes no points,
// but has the scenarios and numbers of all: about 50 KB each of small ones.
func mergeMemory(task int64, points int) int64 {
	if task == 0 {
		return 0
	}
	return max(task, 128<<20+int64(points)*100<<10)
}

// taskLimit is the time that a task may take which is expected to take so long: others
// may need the machine, too.
func taskLimit(seconds float64) time.Duration {
	return (time.Duration(2*seconds*float64(time.Second)) + 5*time.Minute).Round(time.Minute)
}

// writeJobs writes the files for schedulers.
func (f *planFlags) writeJobs(out *planned, g *sweep.Grid, below, results string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	base, err := g.Base()
	if err != nil {
		return err
	}
	job := &cluster.Job{
		Name: "xoff-" + base.Name, Tasks: out.Tasks, CPUs: f.cpus, Memory: out.Memory, Merge: mergeMemory(out.Memory, out.Points),
		Program: program, Plan: out.Plan, Results: results, Logs: filepath.Join(below, "log"), Image: f.image, Claim: f.claim,
	}
	if out.Seconds > 0 {
		job.Time = taskLimit(out.Longest)
	}
	write := func(files []cluster.File) error {
		for _, file := range files {
			path := filepath.Join(below, file.Name)
			if err := disk.WriteFile(path, func(w io.Writer) error { return file.Write(w, job) }); err != nil {
				return err
			}
			if file.Executable {
				if err := os.Chmod(path, 0o755); err != nil {
					return err
				}
			}
			out.Files, out.about = append(out.Files, path), append(out.about, file.About)
		}
		return nil
	}
	if f.slurm {
		if err := errors.Join(os.MkdirAll(job.Logs, 0o755), write(cluster.Slurm())); err != nil {
			return err
		}
	}
	if f.kubernetes {
		job.Plan = cluster.Mount(filepath.Base(below) + "/plan.json")
		job.Results = cluster.Mount(filepath.Base(results))
		return write(cluster.Kubernetes())
	}
	return nil
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
		w.line("about %s of one core, %s for the longest task", roughly(out.Seconds), roughly(out.Longest))
	}
	if out.Memory > 0 {
		w.line("%d MiB of memory for a task", out.Memory>>20)
	}
	w.line("")
	w.line("  %s\twhich task computes which point", out.Plan)
	for i, f := range out.Files {
		w.line("  %s\t%s", f, out.about[i])
	}
	w.line("  %s\twhere results go", p.runner.Store.Folder)
	return w.flush()
}

// roughly prints a time that nobody knows exactly.
func roughly(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}
