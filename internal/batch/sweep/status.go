package sweep

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Status is how far a sweep is whose points are computed by tasks.
type Status struct {
	Folder   string        `json:"folder"`
	Scenario string        `json:"scenario,omitempty"`
	Points   int           `json:"points"` // 0: nobody knows
	Done     int           `json:"done"`
	Failed   []FailedPoint `json:"failed"` // those with results are done, too
	Tasks    []TaskState   `json:"tasks"`
	// Left is how many seconds it takes until all is done at the pace of the tasks that
	// run; nil when none does.
	Left *float64 `json:"seconds_left"`
}

// TaskState is what is known of a task.
type TaskState struct {
	Task   int     `json:"task"`
	State  string  `json:"state"` // as in its record; or waiting, silent, done
	Points int     `json:"points"`
	Done   int     `json:"done"`
	Host   string  `json:"host,omitempty"`
	PID    int     `json:"pid,omitempty"`
	Job    string  `json:"job,omitempty"`
	Silent float64 `json:"seconds_silent,omitempty"` // since it was last heard of, if it should run
	Peak   int64   `json:"peak_bytes,omitempty"`
}

// States that no record has.
const (
	Waiting = "waiting" // never heard of
	Silent  = "silent"  // killed, or cut off
	Done    = "done"    // all its points are there
)

// ReadStatus looks at a folder of results.
func ReadStatus(folder string, now time.Time) (*Status, error) {
	plan, err := ReadFolderPlan(folder)
	if err != nil {
		return nil, err
	}
	records, err := ReadTasks(folder)
	if err != nil {
		return nil, err
	}
	s := &Status{Folder: folder, Failed: []FailedPoint{}, Tasks: []TaskState{}}
	switch {
	case plan != nil:
		s.count(plan, records, now)
		return s, nil
	case len(records) > 0:
		return s, s.countOnly(folder, records, now)
	}
	if plan, err = unplanned(folder); err != nil {
		return nil, err
	}
	s.count(plan, nil, now)
	s.Tasks = []TaskState{} // it has none
	return s, nil
}

// count looks for the points of a plan, and says how far its tasks are.
func (s *Status) count(plan *Plan, records []TaskRecord, now time.Time) {
	s.Scenario, s.Points = plan.Sweep.Scenario, len(plan.Sweep.Points)
	s.Tasks = make([]TaskState, plan.Tasks)
	for i := range s.Tasks {
		s.Tasks[i] = TaskState{Task: i, State: Waiting}
	}
	given := make(map[string]bool) // up: there will be no results
	for _, r := range records {
		for _, f := range r.Failed {
			given[f.Folder] = true
		}
	}
	left := 0.0
	store := Store{Folder: s.Folder}
	for i, m := range plan.Sweep.Points {
		task := &s.Tasks[plan.Work[i].Task]
		task.Points++
		var r pointRecord
		key := Key{Scenario: m.Scenario, Executable: plan.Sweep.Executable, Options: plan.Sweep.Options}
		if store.record(m.Folder, &r) != nil || r.Key != key {
			if !given[m.Folder] {
				left += plan.Work[i].Cost
			}
			continue
		}
		task.Done++
		s.Done++
		if r.Verdict.Code != 0 {
			s.Failed = append(s.Failed, FailedPoint{pointLabel(plan.Sweep.Axes, &m), m.Folder, r.Verdict.Code, r.Verdict.Message})
		}
	}
	s.describe(records, plan.Tasks, now)
	pace := 0.0
	for _, r := range records {
		if r.Of == plan.Tasks && s.Tasks[r.Task].State == Running {
			pace += r.Share * r.Work / max(r.Seconds(), 1)
		}
	}
	if pace > 0 {
		seconds := left / pace
		s.Left = &seconds
	}
}

// unplanned makes a plan of one task of a sweep that has none.
func unplanned(folder string) (*Plan, error) {
	p := &Plan{Tasks: 1}
	path := filepath.Join(folder, manifestFile)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%s holds no sweep; allowed: the folder of `xoff sweep` or of tasks with --shard", folder)
	}
	if err := readJSON(path, &p.Sweep); err != nil {
		return nil, err
	}
	p.Work = make([]Planned, len(p.Sweep.Points))
	return p, nil
}

// pointLabel names a point of a manifest as a sweep does.
func pointLabel(axes []Axis, m *ManifestPoint) string {
	var list []string
	for i, a := range axes {
		if i < len(m.Values) {
			list = append(list, a.Key+"="+m.Values[i])
		}
	}
	return strings.Join(append(list, fmt.Sprintf("seed=%d", m.Seed)), ", ")
}

// countOnly is for points that have no plan, such as those of experiments: how many are
// there, and what the tasks say.
func (s *Status) countOnly(folder string, records []TaskRecord, now time.Time) error {
	names, err := pointNames(folder)
	if err != nil {
		return err
	}
	s.Done = len(names)
	tasks := records[0].Of
	s.Tasks = make([]TaskState, tasks)
	known := 0
	for i := range s.Tasks {
		s.Tasks[i] = TaskState{Task: i, State: Waiting}
	}
	for _, r := range records {
		if r.Of == tasks {
			s.Tasks[r.Task].Points, s.Tasks[r.Task].Done = r.Points, r.Done
			s.Points += r.Points
			known++
		}
	}
	if known < tasks {
		s.Points = 0
	}
	s.describe(records, tasks, now)
	return nil
}

// describe adds what the tasks say of themselves.
func (s *Status) describe(records []TaskRecord, tasks int, now time.Time) {
	for _, r := range records {
		if r.Of != tasks {
			continue
		}
		t := &s.Tasks[r.Task]
		t.State, t.Host, t.PID, t.Job, t.Peak = r.State, r.Host, r.PID, r.Job, r.Peak
		if r.State == Running {
			if t.Silent = now.Sub(r.Updated).Seconds(); t.Silent > silentAfter.Seconds() {
				t.State = Silent
			}
		}
		s.Failed = append(s.Failed, r.Failed...)
	}
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Points > 0 && t.Done == t.Points && t.State != Running {
			t.State = Done
		}
	}
	slices.SortStableFunc(s.Failed, func(a, b FailedPoint) int { return cmp.Compare(a.Folder, b.Folder) })
}
