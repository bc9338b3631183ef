package reproduce

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

// A part has the results of the points that an interrupted command had finished, without
// the tables of their runs. It is small, so that hours of work can be moved to another
// machine. Documents are never rendered from parts.

// partName returns the file name of the part of an experiment.
func partName(id, scale string) string {
	return strings.TrimSuffix(FileName(id, scale), ".json") + ".part.json"
}

// Continue removes points from a prepared plan if parts in a folder have their results.
// Parts of another executable or of changed scenarios are ignored.
func (p *Plan) Continue(folder string) error {
	program, err := sweep.Executable()
	if err != nil {
		return err
	}
	type run struct {
		Position
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
				known[run{r.Position, r.Seed, r.Scenario}] = r
			}
		}
		used := 0
		for k := range p.wanted[i] {
			w := &p.wanted[i][k]
			w.part = known[run{w.Position, w.point.Seed, w.point.Key.Scenario}]
		}
		if e.common() {
			dropIncomplete(p.wanted[i])
		}
		for k := range p.wanted[i] {
			if w := &p.wanted[i][k]; w.part != nil {
				used++
			} else {
				open[w.point] = true
			}
		}
		if used > 0 {
			p.parts[i] = part
			if used < len(part.Points) {
				part.Seconds = 0 // the time of the used points is unknown
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

// dropIncomplete removes the results of peers of which some must run: their metrics need the tables
// of all.
func dropIncomplete(points []wanted) {
	open := make(map[peers]bool)
	for i := range points {
		if points[i].part == nil {
			open[points[i].peers()] = true
		}
	}
	for i := range points {
		if open[points[i].peers()] {
			points[i].part = nil
		}
	}
}

// Keep stores the finished points of an interrupted command as parts.
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

// Finish stores a complete result and removes its part.
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
