package sweep

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/xoff-net/xoff/internal/sys/disk"
)

// TaskRecord is the status file of a task. `xoff sweep status` shows it, and a merge copies the
// messages of points without results from it.
type TaskRecord struct {
	Schema  int       `json:"schema"`
	Task    int       `json:"task"`
	Of      int       `json:"of"`
	State   string    `json:"state"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Job     string    `json:"job,omitempty"` // name of the scheduler's job
	Began   time.Time `json:"began"`
	Updated time.Time `json:"updated"`
	Points  int       `json:"points"`
	Done    int       `json:"done"`
	Reused  int       `json:"reused"` // part of Done
	Share   float64   `json:"share"`  // finished share of Work, from 0 to 1
	Work    float64   `json:"work"`   // cost of all points except reused ones
	Peak    int64     `json:"peak_bytes,omitempty"`
	// Failed lists the points without results.
	Failed []FailedPoint `json:"failed,omitempty"`
}

// FailedPoint is a point with a verdict other than success.
type FailedPoint struct {
	Point   string `json:"point"`
	Folder  string `json:"folder"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// States of a task. A task that was killed keeps its last state.
const (
	Running     = "running"
	Ended       = "ended"
	Interrupted = "interrupted"
	Stopped     = "stopped" // by an error, such as a full disk
)

// taskPrefix is the prefix of the file names of records.
const taskPrefix = "task-"

// recordEvery is the interval at which a task updates its record; silentAfter is the time
// without updates after which it counts as silent.
const (
	recordEvery = 10 * time.Second
	silentAfter = 2 * time.Minute
)

// Task is a shard that is being computed.
type Task struct {
	TaskRecord
	path string
	next time.Time
}

// Begin writes the record of a task that starts to compute its points.
func (s *Store) Begin(shard Shard, points []*Point, getenv func(string) string) (*Task, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	now := time.Now().UTC()
	t := &Task{path: filepath.Join(s.Folder, tasksFolder, fmt.Sprintf("%s%d-of-%d.json", taskPrefix, shard.Index, shard.Of))}
	t.TaskRecord = TaskRecord{
		Schema: SchemaVersion, Task: shard.Index, Of: shard.Of, State: Running, Host: host, PID: os.Getpid(), Job: jobName(getenv),
		Began: now, Points: len(points),
	}
	for _, p := range points {
		if row, ok := s.load(p); !ok || row.Verdict.Aborted {
			t.Work += p.cost()
		}
	}
	return t, t.write(now)
}

// jobName returns the scheduler's name of this task, or "".
func jobName(getenv func(string) string) string {
	if id := getenv("SLURM_ARRAY_JOB_ID"); id != "" {
		return "slurm " + id + "_" + getenv(slurmIndex)
	}
	return ""
}

func (t *Task) write(now time.Time) error {
	t.Updated, t.Peak = now, PeakMemory()
	t.next = now.Add(recordEvery)
	return disk.WriteShared(t.path, func(w io.Writer) error { return encode(w, &t.TaskRecord) })
}

// Update stores the progress of a task. It writes the record at most once per recordEvery.
func (t *Task) Update(p Progress) {
	if p.Preparing {
		return
	}
	t.Done, t.Reused, t.Share = p.Done, p.Reused, p.Share
	if now := time.Now().UTC(); !now.Before(t.next) {
		_ = t.write(now) // a full disk fails later, when results are written
	}
}

// End writes the final record of a task.
func (t *Task) End(ctx context.Context, rows []Row, err error) error {
	t.State = Ended
	switch {
	case ctx.Err() != nil:
		t.State = Interrupted
	case err != nil:
		t.State = Stopped
	}
	for _, r := range rows {
		if r.Point != nil && !r.Results {
			t.Failed = append(t.Failed, FailedPoint{r.Point.Label, r.Point.Folder, r.Verdict.Code, r.Verdict.Message})
		}
	}
	return t.write(time.Now().UTC())
}

// Task computes points while other tasks write to the same folder. Rows are nil if it failed
// before the first point or after the last one.
func (r *Runner) Task(ctx context.Context, plan *Plan, shard Shard, points []*Point, force bool, getenv func(string) string) (*Task, []Row, error) {
	if err := r.Store.Share(plan, force); err != nil {
		return nil, nil, err
	}
	task, err := r.Store.Begin(shard, points, getenv)
	if err != nil {
		return nil, nil, err
	}
	show := r.Progress
	r.Progress = func(p Progress) {
		task.Update(p)
		show(p)
	}
	rows, err := r.Sweep(ctx, points)
	endErr := task.End(ctx, rows, err)
	switch {
	case err != nil:
		return task, rows, err
	case endErr != nil:
		return task, nil, endErr
	}
	return task, rows, nil
}

// FailedPoints returns the failed points of rows and their highest exit code.
func FailedPoints(rows []Row) (failed []FailedPoint, code int) {
	failed = []FailedPoint{}
	for _, r := range rows {
		if r.Verdict.Code != 0 {
			code = max(code, r.Verdict.Code)
			failed = append(failed, FailedPoint{Point: r.Point.Label, Folder: r.Point.Folder, Code: r.Verdict.Code, Message: r.Verdict.Message})
		}
	}
	return failed, code
}

// Seconds returns how long a task has been running.
func (t *TaskRecord) Seconds() float64 { return t.Updated.Sub(t.Began).Seconds() }

// PeakMemory returns the peak resident memory of this process in bytes, 0 if unknown.
func PeakMemory() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// largePeak is the peak above which memory is returned to the system before the next point.
const largePeak = 256 << 20

// ResetPeak resets PeakMemory where possible, so that it measures the next point alone.
func ResetPeak() {
	if PeakMemory() > largePeak {
		debug.FreeOSMemory()
	}
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // see proc(5); fails on other systems
}

// ReadTasks reads the records of the tasks that write to a folder.
func ReadTasks(folder string) ([]TaskRecord, error) {
	entries, err := os.ReadDir(filepath.Join(folder, tasksFolder))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var list []TaskRecord
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), taskPrefix) {
			continue
		}
		var t TaskRecord
		if err := readJSON(filepath.Join(folder, tasksFolder, e.Name()), &t); err != nil {
			return nil, err
		}
		if t.Of < 1 || t.Of > maxPoints || t.Task < 0 || t.Task >= t.Of {
			continue // not written by a task
		}
		list = append(list, t)
	}
	return list, nil
}
