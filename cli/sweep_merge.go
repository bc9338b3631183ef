package cli

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

func (a *app) sweepMergeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge FOLDER...",
		Short: "Merge the results of a sweep's tasks into one table",
		Long: `Merge the results of tasks (xoff sweep --shard) into the files that xoff sweep writes on
one machine: sweep.csv, sweep.parquet, sweep.json and the page. The results of several
folders are copied to the folder of -o. No table is written while points are missing.
Points of experiments (xoff reproduce --shard) are only copied: xoff reproduce then
judges them.`,
		Args: minOneArg,
		RunE: func(cmd *cobra.Command, folders []string) error {
			if len(folders) > 1 && a.folder == "" {
				return failf(exitInput, "no output folder for the results of %d folders (expected -o FOLDER)", len(folders))
			}
			if err := a.checkWorkers(); err != nil {
				return err
			}
			return a.merge(cmd, folders)
		},
	}
	a.outputFlag(cmd, "`FOLDER` for the merged results (default: the input folder, if there is only one)")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// merge merges the results of tasks in folders.
func (a *app) merge(cmd *cobra.Command, folders []string) error {
	plan, records, err := sweep.CommonPlan(folders)
	if err != nil {
		return wrap(exitInput, err)
	}
	into := a.folder
	if into == "" {
		into = folders[0]
	}
	if plan == nil {
		if err := sweep.JoinFolders(folders, into); err != nil {
			return wrap(exitFailure, err)
		}
		if !a.quiet && !a.json {
			fmt.Fprintf(a.out, "copied the points of %d tasks to %s; xoff reproduce -o %s judges them\n", len(records), into, into)
		}
		return nil
	}
	if err := plan.CheckProgram(); err != nil {
		return wrap(exitInput, err)
	}
	m := a.newMeter()
	p := &prepared{grid: plan.Grid(), runner: a.newRunner(into, m), meter: m}
	p.runner.Simulate(plan.Options())
	if p.points, err = p.runner.ReadyPlan(cmd.Context(), plan); err != nil {
		return prepareError(cmd, err)
	}
	if err := a.openSweep(p, sweep.Opening{Resume: true}); err != nil {
		return err
	}
	store := &p.runner.Store
	defer store.Close()
	m.clear()
	stopMeter := a.showWorking(fmt.Sprintf("collecting %d points", len(p.points)))
	for _, f := range folders {
		if f != store.Folder {
			err = errors.Join(err, store.Join(f, p.points))
		}
	}
	rows, missing := store.Collect(plan, p.points, records)
	stopMeter()
	if err != nil {
		return wrap(exitFailure, err)
	}
	if len(missing.Points) > 0 {
		return wrap(exitFailure, missing.Err(len(rows), plan.Tasks))
	}
	t, err := a.saveSweep(store, p.grid, rows, plan.Report, nil)
	if err != nil {
		return err
	}
	return a.finishSweep(t, func(w *sheet) { w.sheet(t.Cells(nil)) })
}

func (a *app) sweepStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status FOLDER",
		Short: "Print the progress of a sweep's tasks",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failf(exitInput, "found %d folders (expected xoff sweep status FOLDER, the output folder of the tasks)", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := sweep.ReadStatus(args[0], time.Now())
			if err != nil {
				return wrap(exitInput, err)
			}
			if a.json {
				return wrap(exitFailure, a.printJSON(s))
			}
			return wrap(exitFailure, a.printStatus(s))
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printStatus(s *sweep.Status) error {
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	name := s.Scenario
	if name == "" {
		name = s.Folder
	}
	of := ""
	if s.Points > 0 {
		of = fmt.Sprintf(" of %d", s.Points)
	}
	w.line("%s: %d%s points done, %d failed", color.New(color.Bold).Sprint(name), s.Done, of, len(s.Failed))
	w.tasks(s)
	if len(s.Failed) > 0 {
		w.line("")
	}
	for _, f := range s.Failed {
		w.line("failed: %s: %s", f.Point, f.Message)
	}
	return w.flush()
}

// tasks prints the states of a sweep's tasks, if it has any.
func (w *sheet) tasks(s *sweep.Status) {
	if len(s.Tasks) == 0 {
		return
	}
	counts := make(map[string]int)
	for _, t := range s.Tasks {
		counts[t.State]++
	}
	var list []string
	for _, state := range []string{sweep.Running, sweep.Silent, sweep.Interrupted, sweep.Stopped, sweep.Ended, sweep.Waiting, sweep.Done} {
		if counts[state] > 0 {
			list = append(list, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	w.line("tasks: %s", strings.Join(list, ", "))
	if s.Left != nil {
		w.line("about %s left at the pace of the running tasks", roughly(*s.Left))
	}
	head := false
	for _, t := range s.Tasks {
		if t.State == sweep.Waiting || t.State == sweep.Done {
			continue
		}
		if !head {
			w.line("")
			w.line("task\tstate\tdone\twhere")
			head = true
		}
		w.line("%d\t%s\t%d of %d\t%s", t.Task, t.State, t.Done, t.Points, whereTask(&t))
	}
}

// whereTask formats the host, process and job of a task.
func whereTask(t *sweep.TaskState) string {
	where := []string{fmt.Sprintf("%s, process %d", t.Host, t.PID)}
	if t.Job != "" {
		where = append(where, t.Job)
	}
	if t.Peak > 0 {
		where = append(where, fmt.Sprintf("peak %d MiB", t.Peak>>20))
	}
	if t.State == sweep.Silent {
		where = append(where, fmt.Sprintf("no update for %s", roughly(t.Silent)))
	}
	return strings.Join(where, ", ")
}
