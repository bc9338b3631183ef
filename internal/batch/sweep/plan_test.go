package sweep

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/run"
)

// planTiny plans the four points of tinyGrid with two seeds.
func planTiny(t *testing.T, tasks int) *Plan {
	t.Helper()
	r := &Runner{Workers: 1, Build: buildPoint}
	g := tinyGrid(5, 6)
	points, err := r.Prepare(context.Background(), g, "plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(g, points, tasks, &run.Options{Engine: run.Fast, Invariants: run.Off})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runTask computes a task of a plan.
func runTask(t *testing.T, p *Plan, index int, folder string, f *fake) {
	t.Helper()
	ctx, s := context.Background(), Shard{index, p.Tasks}
	r := &Runner{Store: Store{Folder: folder}, Workers: 1, Build: buildPoint, Run: f.run}
	points, err := r.ReadyTask(ctx, p, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Store.Share(p, false); err != nil {
		t.Fatal(err)
	}
	task, err := r.Store.Begin(s, points, environment("SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Progress = task.Update
	rows, err := r.Sweep(ctx, points)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.End(ctx, rows, err); err != nil {
		t.Fatal(err)
	}
}

// A plan that was written and read assigns the same points, and a task builds only its own.
func TestPlanIsReadAsWritten(t *testing.T) {
	p := planTiny(t, 3)
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	if !SamePlan(p, again) {
		t.Errorf("got %+v, want %+v", again, p)
	}
	var labels []string
	for i := range p.Tasks {
		points, err := again.Points(&Shard{i, p.Tasks})
		if err != nil {
			t.Fatal(err)
		}
		for k, q := range points {
			if q.Index != k {
				t.Errorf("task %d: point %d has index %d", i, k, q.Index)
			}
			labels = append(labels, q.Label)
		}
	}
	// All points cost the same: assigned in turn, the fourth to task 0.
	want := []string{"alpha=1/8, seed=5", "alpha=1/4, seed=6", "alpha=1/8, seed=6", "alpha=1/4, seed=5"}
	for i := range want {
		want[i] = "switch.policy." + want[i]
	}
	if !slices.Equal(labels, want) {
		t.Errorf("got %q, want %q", labels, want)
	}
}

func TestReadPlanRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	for _, c := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(p *Plan) { p.Schema = 99 }, "plan has schema 99"},
		{func(p *Plan) { p.Tasks = 0 }, "0 tasks for 4 points"},
		{func(p *Plan) { p.Work = p.Work[1:] }, "of which 3 are assigned"},
		{func(p *Plan) { p.Work[1].Task = 2 }, "point 1 is assigned to task 2 of 2"},
		{func(p *Plan) { p.Sweep.Points[2].Folder = "../x" }, `point 2 has folder "../x"`},
		{func(p *Plan) { p.Sweep.Points[0].Values = nil }, "0 values for 1 keys"},
	} {
		p := planTiny(t, 2)
		c.change(p)
		if err := p.Write(path); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPlan(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "(expected ") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if err := os.WriteFile(path, []byte(`{"schema": 1, "taskz": 3}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlan(path); err == nil || !strings.Contains(err.Error(), `unknown field "taskz"`) {
		t.Errorf("got %v", err)
	}
}

// Plans of another executable and points that have changed are rejected by name.
func TestPlanOfOthers(t *testing.T) {
	p := planTiny(t, 2)
	if err := p.CheckProgram(); err != nil {
		t.Error(err)
	}
	own := p.Sweep.Executable
	p.Sweep.Executable = "abc"
	if err := p.CheckProgram(); err == nil || !strings.Contains(err.Error(), own) || !strings.Contains(err.Error(), "abc") {
		t.Errorf("got %v", err)
	}
	p.Sweep.Executable = own
	p.Text = strings.ReplaceAll(p.Text, "1KB", "2KB")
	r := &Runner{Workers: 1, Build: buildPoint}
	if _, err := r.ReadyTask(context.Background(), p, Shard{0, 2}); err == nil || !strings.Contains(err.Error(), "seed=5 differs from the plan") {
		t.Errorf("got %v", err)
	}
}

// Tasks that write to one folder at the same time, one of them twice, leave every point
// once. Tidy removes all other files.
func TestTasksShareAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "shared")
	p := planTiny(t, 2)
	var both sync.WaitGroup
	both.Add(2)
	f := &fake{before: func(q *Point) {
		if q.Seed == 5 && q.Values[0] == "1/8" { // a point of task 0: both run at the same time
			both.Done()
			both.Wait()
		}
	}}
	var wg sync.WaitGroup
	for _, index := range []int{0, 0, 1} {
		wg.Go(func() { runTask(t, p, index, folder, f) })
	}
	wg.Wait()
	if len(f.ran) < 5 {
		t.Errorf("got runs %q, want one point computed twice", f.ran)
	}
	s := Store{Folder: folder}
	points, err := p.Points(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, missing := s.Collect(p, points, nil)
	if len(missing.Points) > 0 || len(rows) != 4 {
		t.Errorf("missing: %v", missing.Points)
	}
	if err := s.Tidy(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	below, err := pointNames(folder)
	if err != nil || len(below) != 4 || !slices.Equal(names, []string{manifestFile, pointsFolder}) {
		t.Errorf("%q, points %q, %v", names, below, err)
	}
}

// A sweep that locks the folder does not remove files that tasks are writing.
func TestLockLeavesTasksAlone(t *testing.T) {
	folder := t.TempDir()
	task := Store{Folder: folder}
	if err := task.Share(nil, false); err != nil {
		t.Fatal(err)
	}
	temp, err := task.begin(&Point{Folder: "a"})
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(folder, pointsFolder, disk.TempPrefix+"b")
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	whole := Store{Folder: folder}
	if err := whole.Lock(); err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if _, err := os.Stat(temp); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("leftovers of a killed sweep are still there")
	}
}

func TestShareRefuses(t *testing.T) {
	folder := t.TempDir()
	s := Store{Folder: folder}
	if err := s.Share(planTiny(t, 2), false); err != nil {
		t.Fatal(err)
	}
	if err := s.Share(planTiny(t, 2), false); err != nil { // the next task
		t.Error(err)
	}
	if err := s.Share(planTiny(t, 3), false); err == nil || !strings.Contains(err.Error(), "already contains a sweep with another plan") {
		t.Errorf("got %v", err)
	}
	if err := s.Share(planTiny(t, 3), true); err != nil {
		t.Error(err)
	}
	other := planTiny(t, 3)
	other.Sweep.Base = "another"
	if err := s.Share(other, false); err == nil || !strings.Contains(err.Error(), "already contains a sweep of another scenario") {
		t.Errorf("got %v", err)
	}
}

// A failed point has the verdict of its task's record; a point without a record is missing,
// and its task is named. Separate folders are joined.
func TestJoinAndCollect(t *testing.T) {
	dir := t.TempDir()
	p := planTiny(t, 2)
	f := &fake{fail: map[string]error{"switch.policy.alpha=1/4, seed=5": os.ErrInvalid}}
	runTask(t, p, 0, filepath.Join(dir, "a"), f) // 1/8 and 1/4, both with seed 5
	records, err := ReadTasks(filepath.Join(dir, "a"))
	if err != nil || len(records) != 1 || records[0].State != Ended || records[0].Job != "slurm 12_1" {
		t.Fatalf("%+v, %v", records, err)
	}
	points, err := p.Points(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := Store{Folder: filepath.Join(dir, "all")}
	if err := all.Open(p.Grid(), points, Opening{Resume: true}); err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if err := all.Join(filepath.Join(dir, "a"), points); err != nil {
		t.Fatal(err)
	}
	rows, missing := all.Collect(p, points, records)
	if len(missing.Points) != 2 || !slices.Equal(missing.Tasks, []int{1}) {
		t.Errorf("missing %v", missing)
	}
	if !rows[0].Results || rows[2].Verdict.Code != run.Failure || rows[2].Verdict.Message != "invalid argument" {
		t.Errorf("%+v, %+v", rows[0], rows[2])
	}
	runTask(t, p, 1, filepath.Join(dir, "b"), f)
	for range 2 { // the second time there is nothing to copy
		if err := all.Join(filepath.Join(dir, "b"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, missing = all.Collect(p, points, records); len(missing.Points) > 0 {
		t.Errorf("missing %v", missing)
	}
}

func TestStatus(t *testing.T) {
	folder := t.TempDir()
	p := planTiny(t, 2)
	f := &fake{
		fail:    map[string]error{"switch.policy.alpha=1/4, seed=5": os.ErrInvalid},
		verdict: map[string]run.Verdict{"switch.policy.alpha=1/8, seed=5": {Code: run.Broken, Message: "dropped"}},
	}
	if _, err := ReadStatus(folder, time.Now()); err == nil || !strings.Contains(err.Error(), "contains no sweep") {
		t.Errorf("got %v", err)
	}
	// A sweep without tasks has only points.
	if err := (&Store{Folder: folder}).json(manifestFile, &p.Sweep); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadStatus(folder, time.Now()); err != nil || s.Points != 4 || s.Done != 0 || len(s.Tasks) != 0 || s.Left != nil {
		t.Errorf("%+v, %v", s, err)
	}
	runTask(t, p, 0, folder, f)
	now := time.Now()
	s, err := ReadStatus(folder, now)
	if err != nil {
		t.Fatal(err)
	}
	if s.Points != 4 || s.Done != 1 || len(s.Failed) != 2 || s.Tasks[0].State != Ended || s.Tasks[1].State != Waiting || s.Left != nil {
		t.Errorf("%+v", s)
	}
	if s.Failed[0].Message != "invalid argument" || s.Failed[1].Message != "dropped" || s.Failed[1].Point != "switch.policy.alpha=1/8, seed=5" {
		t.Errorf("%+v", s.Failed)
	}
	// Task 1 computed a quarter of its two points in 10 s: 0.05 points per second. Two are
	// open, without the failed one, so 40 s are left.
	store := Store{Folder: folder, shared: true}
	points, err := p.Points(&Shard{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	task, err := store.Begin(Shard{1, 2}, points, environment())
	if err != nil {
		t.Fatal(err)
	}
	task.Share, task.Began = 0.25, now.UTC().Add(-10*time.Second)
	if err := task.write(now.UTC()); err != nil {
		t.Fatal(err)
	}
	if s, err = ReadStatus(folder, now.Add(time.Minute)); err != nil || s.Tasks[1].State != Running || s.Left == nil || *s.Left < 39.9 || *s.Left > 40.1 {
		t.Errorf("%+v, %v", s, err)
	}
	// A record that no task of this plan wrote is ignored.
	if err := os.WriteFile(filepath.Join(folder, tasksFolder, taskPrefix+"x.json"), []byte(`{"task": -1, "of": 2, "state": "running"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err = ReadStatus(folder, now.Add(3*time.Minute)); err != nil || s.Tasks[1].State != Silent || s.Left != nil {
		t.Errorf("%+v, %v", s, err)
	}
}
