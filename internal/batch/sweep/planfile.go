package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/run"
)

// Plan assigns the points of a sweep to tasks. A task reads it and builds only its own
// points. It does not mention time or machine, except for the path of the scenario:
// files that the scenario names are relative to it.
type Plan struct {
	Schema int       `json:"schema"`
	Tasks  int       `json:"tasks"`
	Work   []Planned `json:"work"` // by point, parallel to Sweep.Points
	Sweep  Manifest  `json:"sweep"`

	File string   `json:"file"`
	Text string   `json:"text"` // text of the scenario
	Set  []string `json:"set"`

	Settings
	Report  bool   `json:"report"`  // write a report of the whole sweep
	Results string `json:"results"` // results folder, relative to the folder of the plan; empty: not set
}

// Planned is the cost and the task of a point.
type Planned struct {
	Cost float64 `json:"cost"` // see Point.Cost
	Task int     `json:"task"`
}

// Names in a folder that tasks share, until the sweep is complete.
const (
	tasksFolder = ".xoff-tasks"
	planFile    = "plan.json"
)

// NewPlan divides prepared points among tasks.
func NewPlan(g *Grid, points []*Point, tasks int, o *run.Options) (*Plan, error) {
	m, err := newManifest(g, points)
	if err != nil {
		return nil, err
	}
	file, err := filepath.Abs(g.Name)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Schema: SchemaVersion, Tasks: tasks, Sweep: *m, File: file, Text: string(g.Data), Set: append([]string{}, g.Set...),
		Settings: SettingsOf(o),
	}
	costs := make([]float64, len(points))
	for i, q := range points {
		costs[i] = q.cost()
	}
	for i, task := range AssignTasks(costs, tasks) {
		p.Work = append(p.Work, Planned{costs[i], task})
	}
	return p, nil
}

// Grid returns the grid of the plan.
func (p *Plan) Grid() *Grid {
	return &Grid{Name: p.File, Data: []byte(p.Text), Set: p.Set, Axes: p.Sweep.Axes, Seeds: p.Sweep.Seeds}
}

// Points parses the points of a shard, or all with nil, and sets the keys and folders of
// the plan.
func (p *Plan) Points(s *Shard) ([]*Point, error) {
	g := p.Grid()
	var list []*Point
	for i, m := range p.Sweep.Points {
		if s != nil && p.Work[i].Task != s.Index {
			continue
		}
		point, err := g.Point(m.Values, m.Seed)
		if err != nil {
			return nil, err
		}
		point.Index, point.Folder, point.Cost = len(list), m.Folder, p.Work[i].Cost
		point.Key = Key{Scenario: m.Scenario, Executable: p.Sweep.Executable, Options: p.Sweep.Options}
		list = append(list, point)
	}
	return list, nil
}

// Own selects the points of a shard from all prepared points of the plan, and renumbers
// them.
func (p *Plan) Own(points []*Point, s Shard) []*Point {
	var list []*Point
	for i, point := range points {
		if p.Work[i].Task == s.Index {
			point.Index = len(list)
			list = append(list, point)
		}
	}
	return list
}

// CheckProgram returns an error if another executable made the plan: its results might
// differ.
func (p *Plan) CheckProgram() error {
	program, err := Executable()
	if err == nil && program != p.Sweep.Executable {
		err = fmt.Errorf("this xoff executable has hash %s (expected %s as planned); fix: use the same executable on all machines, or make a new plan",
			program, p.Sweep.Executable)
	}
	return err
}

// checkKeys returns an error if a point differs from the plan, for example because a file
// that it names has changed.
func checkKeys(points []*Point, planned []Key) error {
	for i, p := range points {
		if p.Key != planned[i] {
			return fmt.Errorf("%s differs from the plan: a file that it names has changed; fix: use the same files on all machines, or make a new plan", p.Label)
		}
	}
	return nil
}

// ReadPlan reads and checks a plan file.
func ReadPlan(path string) (*Plan, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w (expected a file written by `xoff sweep plan`)", err)
	}
	p := &Plan{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err = d.Decode(p); err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (expected a file written by `xoff sweep plan` of this version)", path, err)
	}
	return p, nil
}

// check rejects inconsistent plans.
func (p *Plan) check() error {
	switch {
	case p.Schema != SchemaVersion:
		return fmt.Errorf("plan has schema %d", p.Schema)
	case p.Tasks < 1 || len(p.Sweep.Points) == 0 || len(p.Work) != len(p.Sweep.Points):
		return fmt.Errorf("plan has %d tasks for %d points, of which %d are assigned", p.Tasks, len(p.Sweep.Points), len(p.Work))
	}
	for i, m := range p.Sweep.Points {
		switch {
		case p.Work[i].Task < 0 || p.Work[i].Task >= p.Tasks:
			return fmt.Errorf("point %d is assigned to task %d of %d", i, p.Work[i].Task, p.Tasks)
		case m.Folder == "" || m.Folder != filepath.Base(m.Folder) || m.Folder[0] == '.':
			return fmt.Errorf("point %d has folder %q", i, m.Folder)
		case len(m.Values) != len(p.Sweep.Axes):
			return fmt.Errorf("point %d has %d values for %d keys", i, len(m.Values), len(p.Sweep.Axes))
		}
	}
	return nil
}

// Write writes the plan to a file.
func (p *Plan) Write(path string) error {
	return disk.WriteShared(path, func(w io.Writer) error { return encode(w, p) })
}

// ReadFolderPlan reads the plan that tasks left in a results folder. It returns nil if there
// is none.
func ReadFolderPlan(folder string) (*Plan, error) {
	path := filepath.Join(folder, tasksFolder, planFile)
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	return ReadPlan(path)
}

// Share prepares a folder for a task while other tasks write there: nothing is locked.
// Finished points of the same sweep are reused. Results of another scenario or plan are an
// error unless forced.
func (s *Store) Share(p *Plan, force bool) error {
	s.shared = true
	if p == nil { // a store without a manifest contains points of several grids
		return s.prepareShared()
	}
	if _, foreign := s.contents(&p.Sweep, false); foreign && !force {
		return fmt.Errorf("%s %w of another scenario; fix: overwrite it with --force, or choose another folder with -o", s.Folder, ErrExists)
	}
	var text bytes.Buffer
	if err := encode(&text, p); err != nil {
		return err
	}
	path := filepath.Join(s.Folder, tasksFolder, planFile)
	old, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(old, text.Bytes()) && !force {
		return fmt.Errorf("%s %w with another plan; fix: use the same executable, command and number of tasks, replace the plan with --force, or choose another folder with -o",
			s.Folder, ErrExists)
	}
	if err := s.prepareShared(); err != nil {
		return err
	}
	if !bytes.Equal(old, text.Bytes()) {
		if err := p.Write(path); err != nil {
			return err
		}
	}
	return disk.WriteShared(filepath.Join(s.Folder, manifestFile), func(w io.Writer) error { return encode(w, &p.Sweep) })
}

// Replan replaces the plan of a folder and removes the records of its tasks. Finished
// points stay.
func (s *Store) Replan(p *Plan) error {
	if err := os.RemoveAll(filepath.Join(s.Folder, tasksFolder)); err != nil {
		return err
	}
	return s.Share(p, true)
}

func (s *Store) prepareShared() error {
	return errors.Join(disk.Prepare(filepath.Join(s.Folder, pointsFolder)), os.MkdirAll(filepath.Join(s.Folder, tasksFolder), 0o755))
}

// Tidy removes plan, task records and temporary files from a folder with complete results.
func (s *Store) Tidy() error {
	return errors.Join(os.RemoveAll(filepath.Join(s.Folder, tasksFolder)), s.removeTemps(func(string) bool { return true }))
}

// SamePlan reports whether two plans assign the same points to the same tasks.
func SamePlan(a, b *Plan) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(a.Sweep, b.Sweep) && slices.Equal(a.Work, b.Work)
}
