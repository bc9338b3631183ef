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

// Plan says which task computes which point of a sweep, and what it needs to do so: a
// task reads it and builds its own points only. It holds no time and no machine but the
// path of the scenario, beside which files that it names are looked for.
type Plan struct {
	Schema int       `json:"schema"`
	Tasks  int       `json:"tasks"`
	Work   []Planned `json:"work"` // by point of the sweep
	Sweep  Manifest  `json:"sweep"`

	File string   `json:"file"`
	Text string   `json:"text"` // of the scenario
	Set  []string `json:"set"`

	Settings
	Report  bool   `json:"report"`  // whether the whole sweep has a page
	Results string `json:"results"` // folder, as seen from that of the plan; empty: nobody said
}

// Planned is what a plan says of a point.
type Planned struct {
	Cost float64 `json:"cost"` // see Point
	Task int     `json:"task"`
}

// Names in a folder that tasks share, until all of it is there.
const (
	tasksFolder = ".xoff-tasks"
	planFile    = "plan.json"
)

// NewPlan deals points that are prepared.
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
	for i, task := range Deal(costs, tasks) {
		p.Work = append(p.Work, Planned{costs[i], task})
	}
	return p, nil
}

// Grid is what was planned.
func (p *Plan) Grid() *Grid {
	return &Grid{Name: p.File, Data: []byte(p.Text), Set: p.Set, Axes: p.Sweep.Axes, Seeds: p.Sweep.Seeds}
}

// Points reads the scenarios of a task, or of all with a nil shard, and gives them the
// keys and folders of the plan.
func (p *Plan) Points(s *Shard) ([]*Point, error) {
	g := p.Grid()
	var list []*Point
	for i, m := range p.Sweep.Points {
		if s != nil && p.Work[i].Task != s.Index {
			continue
		}
		point, err := g.point(m.Values, m.Seed)
		if err != nil {
			return nil, err
		}
		point.Index, point.Folder, point.Cost = len(list), m.Folder, p.Work[i].Cost
		point.Key = Key{Scenario: m.Scenario, Executable: p.Sweep.Executable, Options: p.Sweep.Options}
		list = append(list, point)
	}
	return list, nil
}

// Own are the points of a task, of all of the plan, for who has prepared them.
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

// CheckProgram refuses another program than the one that planned: its results are those
// of another model, perhaps.
func (p *Plan) CheckProgram() error {
	program, err := Executable()
	if err == nil && program != p.Sweep.Executable {
		err = fmt.Errorf("this xoff has the hash %s, and the one that planned had %s; allowed: the same program on all machines, or a new plan",
			program, p.Sweep.Executable)
	}
	return err
}

// checkKeys refuses points that were built into something else than when they were
// planned, such as with other files.
func checkKeys(points []*Point, planned []Key) error {
	for i, p := range points {
		if p.Key != planned[i] {
			return fmt.Errorf("%s is another scenario here than in the plan: a file that it names has changed; allowed: the same files on all machines, or a new plan", p.Label)
		}
	}
	return nil
}

// ReadPlan reads a plan.
func ReadPlan(path string) (*Plan, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; allowed: a file that `xoff sweep plan` wrote", err)
	}
	p := &Plan{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := errors.Join(d.Decode(p), p.check()); err != nil {
		return nil, fmt.Errorf("%s: %w; allowed: a file that `xoff sweep plan` of this version wrote", path, err)
	}
	return p, nil
}

// check finds what would lead a task astray.
func (p *Plan) check() error {
	switch {
	case p.Schema != SchemaVersion:
		return fmt.Errorf("a plan of schema %d", p.Schema)
	case p.Tasks < 1 || len(p.Sweep.Points) == 0 || len(p.Work) != len(p.Sweep.Points):
		return fmt.Errorf("%d tasks for %d points, of which %d are dealt", p.Tasks, len(p.Sweep.Points), len(p.Work))
	}
	for i, m := range p.Sweep.Points {
		switch {
		case p.Work[i].Task < 0 || p.Work[i].Task >= p.Tasks:
			return fmt.Errorf("point %d is dealt to task %d of %d", i, p.Work[i].Task, p.Tasks)
		case m.Folder == "" || m.Folder != filepath.Base(m.Folder) || m.Folder[0] == '.':
			return fmt.Errorf("point %d has the folder %q", i, m.Folder)
		case len(m.Values) != len(p.Sweep.Axes):
			return fmt.Errorf("point %d has %d values for %d keys", i, len(m.Values), len(p.Sweep.Axes))
		}
	}
	return nil
}

// Write writes a plan.
func (p *Plan) Write(path string) error {
	return disk.WriteShared(path, func(w io.Writer) error { return encode(w, p) })
}

// ReadFolderPlan reads the plan that the tasks of a folder left there; nil when there is
// none.
func ReadFolderPlan(folder string) (*Plan, error) {
	path := filepath.Join(folder, tasksFolder, planFile)
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	return ReadPlan(path)
}

// Share makes a folder ready for the points of one task among others, which may write
// there at the same time: nothing is locked. What is there of the same sweep is used;
// what belongs to another scenario, or to another plan, is left alone unless forced.
func (s *Store) Share(p *Plan, force bool) error {
	s.shared = true
	if p == nil { // a store without a manifest holds points of several grids
		return s.prepareShared()
	}
	if _, others := s.held(&p.Sweep); others && !force {
		return fmt.Errorf("%s holds results of another scenario: %w; allowed: --force to overwrite them, or another folder with -o", s.Folder, ErrExists)
	}
	var text bytes.Buffer
	if err := encode(&text, p); err != nil {
		return err
	}
	path := filepath.Join(s.Folder, tasksFolder, planFile)
	there, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(there, text.Bytes()) && !force {
		return fmt.Errorf("%s: tasks of another plan write there: %w; allowed: the same program, command and number of tasks, --force to replace the plan, or another folder with -o",
			s.Folder, ErrExists)
	}
	if err := s.prepareShared(); err != nil {
		return err
	}
	if !bytes.Equal(there, text.Bytes()) {
		if err := p.Write(path); err != nil {
			return err
		}
	}
	return disk.WriteShared(filepath.Join(s.Folder, manifestFile), func(w io.Writer) error { return encode(w, &p.Sweep) })
}

// Replan puts a plan into a folder in place of another one, whose tasks are forgotten.
// Finished points stay.
func (s *Store) Replan(p *Plan) error {
	if err := os.RemoveAll(filepath.Join(s.Folder, tasksFolder)); err != nil {
		return err
	}
	return s.Share(p, true)
}

func (s *Store) prepareShared() error {
	return errors.Join(disk.Prepare(filepath.Join(s.Folder, pointsFolder)), os.MkdirAll(filepath.Join(s.Folder, tasksFolder), 0o755))
}

// Tidy removes what tasks left in a folder besides results, when all of these are there.
func (s *Store) Tidy() error {
	return errors.Join(os.RemoveAll(filepath.Join(s.Folder, tasksFolder)), s.removeTemps(func(string) bool { return true }))
}

// SamePlan reports whether two plans deal the same points the same way.
func SamePlan(a, b *Plan) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(a.Sweep, b.Sweep) && slices.Equal(a.Work, b.Work)
}
