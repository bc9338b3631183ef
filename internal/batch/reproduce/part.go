package reproduce

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

// A part is what documents need of the points that an interrupted run had finished:
// some bytes per point instead of the tables of its run, so that hours of work can be
// carried to another machine. Documents are never rendered from parts.

// partName is that of the part of an experiment.
func partName(id, scale string) string {
	return strings.TrimSuffix(FileName(id, scale), ".json") + ".part.json"
}

// Continue takes out of a plan that is prepared what the parts of a folder have. Parts
// of another program or of scenarios that have changed are of no use.
func (p *Plan) Continue(folder string) error {
	program, err := sweep.Executable()
	if err != nil {
		return err
	}
	type run struct {
		Place
		seed     uint64
		scenario string
	}
	open := make(map[*sweep.Point]bool)
	for i, e := range p.Experiments {
		part, err := load(filepath.Join(folder, partName(e.ID, p.Scale)), e.ID, p.Scale)
		if err != nil {
			return err
		}
		known := make(map[run]*PointResult)
		if part != nil && part.Executable == program {
			for k := range part.Points {
				r := &part.Points[k]
				known[run{r.Place, r.Seed, r.Scenario}] = r
			}
		}
		used := 0
		for k := range p.wanted[i] {
			w := &p.wanted[i][k]
			if w.part = known[run{w.Place, w.point.Seed, w.point.Key.Scenario}]; w.part != nil {
				used++
			} else {
				open[w.point] = true
			}
		}
		if used > 0 {
			p.parts[i] = part
			if used < len(part.Points) {
				part.Seconds = 0 // nobody knows how long those took that are used
			}
		}
	}
	all := p.Points
	p.Points = nil
	for _, point := range all {
		if open[point] {
			point.Index = len(p.Points)
			p.Points = append(p.Points, point)
		}
	}
	return nil
}

// Keep stores what an interrupted run has finished as parts.
func (p *Plan) Keep(store *sweep.Store, rows []sweep.Row, folder string) error {
	results, err := p.Collect(store, rows)
	if err != nil {
		return err
	}
	if err := disk.Prepare(folder); err != nil {
		return err
	}
	for i, e := range p.Experiments {
		if e.Simulated() && len(results[i].Points) > 0 {
			if err := disk.WriteFile(filepath.Join(folder, partName(e.ID, p.Scale)), results[i].Write); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish stores a whole result in place of its part.
func (r *Result) Finish(folder string) error {
	if err := r.Save(folder); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(folder, partName(r.Experiment, r.Scale)))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
