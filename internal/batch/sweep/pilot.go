package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/run"
)

// Pilot runs up to n points, each as a task of its own, stores their results and returns
// their time and memory. It works in a temporary folder inside folder and calls report
// before each point.
func (r *Runner) Pilot(ctx context.Context, g *Grid, points []*Point, n int, o *run.Options, folder string, report func(i, of int, p *Point)) ([]PilotRun, error) {
	if n == 0 {
		return nil, nil
	}
	single, err := NewPlan(g, points, len(points), o) // one point per task
	if err != nil {
		return nil, err
	}
	aside := filepath.Join(folder, disk.TempPrefix+"pilot")
	if err := errors.Join(os.RemoveAll(aside), os.Mkdir(aside, 0o755)); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(aside) }()
	file := filepath.Join(aside, planFile)
	if err := single.Write(file); err != nil {
		return nil, err
	}
	chosen := Pilots(points, n)
	cost := make(map[int]float64)
	for i, q := range chosen {
		report(i, len(chosen), q)
		task := single.Work[q.Index].Task
		cost[task] = single.Work[q.Index].Cost
		if err := pilotTask(ctx, file, Shard{Index: task, Of: single.Tasks}, aside); err != nil {
			return nil, err
		}
	}
	if err := r.Store.Join(aside, chosen); err != nil {
		return nil, err
	}
	records, err := ReadTasks(aside)
	if err != nil {
		return nil, err
	}
	var samples []PilotRun
	for _, t := range records {
		samples = append(samples, PilotRun{Cost: cost[t.Task], Seconds: t.Seconds(), Peak: t.Peak})
	}
	return samples, nil
}

// pilotTask runs one task in a process of its own, so that its memory can be measured
// separately.
func pilotTask(ctx context.Context, plan string, shard Shard, folder string) error {
	cmd, err := SelfCommand(ctx, "sweep", "--plan", plan, "--shard", shard.String(), "--workers", "1", "--quiet", "-o", folder)
	if err != nil {
		return err
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) && (exit.ExitCode() == run.Failure || exit.ExitCode() == run.Broken):
		return nil // the time of a failed point counts as well
	case err != nil:
		return fmt.Errorf("pilot run: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}
