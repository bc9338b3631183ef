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

// Status is the progress of a sweep that tasks compute.
type Status struct {
	Folder   string        `json:"folder"`
	Scenario string        `json:"scenario,omitempty"`
	Points   int           `json:"points"` // 0: unknown
	Done     int           `json:"done"`
	Failed   []FailedPoint `json:"failed"` // points with results count as done as well
	Tasks    []TaskState   `json:"tasks"`
	// Left is the remaining time in seconds at the pace of the running tasks; nil if none
	// is running.
	Left *float64 `json:"seconds_left"`
}

// TaskState is the state of a task.
type TaskState struct {
	Task   int     `json:"task"`
	State  string  `json:"state"` // state in its record, or waiting, silent, done
	Points int     `json:"points"`
	Done   int     `json:"done"`
	Host   string  `json:"host,omitempty"`
	PID    int     `json:"pid,omitempty"`
	Job    string  `json:"job,omitempty"`
	Silent float64 `json:"seconds_silent,omitempty"` // time since its last update, if it should be running
	Peak   int64   `json:"peak_bytes,omitempty"`
}

// States that do not appear in records.
const (
	Waiting = "waiting" // has no record
	Silent  = "silent"  // killed or disconnected
	Done    = "done"    // all its points have results
)

// ReadStatus reads the status of the sweep in a folder.
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
	s.Tasks = []TaskState{} // a sweep without a plan has no tasks
	return s, nil
}

// count counts the finished points of a plan and sets the state of its tasks.
func (s *Status) count(plan *Plan, records []TaskRecord, now time.Time) {
	s.Scenario, s.Points = plan.Sweep.Scenario, len(plan.Sweep.Points)
	s.Tasks = make([]TaskState, plan.Tasks)
	for i := range s.Tasks {
		s.Tasks[i] = TaskState{Task: i, State: Waiting}
	}
	failed := make(map[string]bool) // by folder: points that will have no results
	for _, r := range records {
		for _, f := range r.Failed {
			failed[f.Folder] = true
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
			if !failed[m.Folder] {
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

// unplanned returns a plan with one task for a sweep without a plan.
func unplanned(folder string) (*Plan, error) {
	p := &Plan{Tasks: 1}
	path := filepath.Join(folder, manifestFile)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%s contains no sweep (expected a folder of `xoff sweep`, or of tasks with --shard)", folder)
	}
	if err := readJSON(path, &p.Sweep); err != nil {
		return nil, err
	}
	p.Work = make([]Planned, len(p.Sweep.Points))
	return p, nil
}

// pointLabel returns the label of a point of a manifest, equal to Point.Label.
func pointLabel(axes []Axis, m *ManifestPoint) string {
	var list []string
	for i, a := range axes {
		if i < len(m.Values) {
			list = append(list, a.Key+"="+m.Values[i])
		}
	}
	return strings.Join(append(list, fmt.Sprintf("seed=%d", m.Seed)), ", ")
}

// countOnly counts points that have no plan, such as points of experiments, and sets the
// state of tasks from their records.
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

// describe adds the records of tasks to their states.
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
