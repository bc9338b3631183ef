package sweepreport

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/internal/render/runreport"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

// IndexFile is the name of an index page.
const IndexFile = "index.html"

// maxDepth is the maximum depth of results below the folder of an index.
const maxDepth = 4

// Results are the folders with results below a folder.
type Results struct {
	Folder string
	Runs   []string // results of runs
	Sweeps []string // results of sweeps, whose points are not in Runs
}

// Find returns the results below a folder, or nil if the folder has results itself, or if there
// are none.
func Find(folder string) (*Results, error) {
	if isRun(folder) || sweep.IsSweep(folder) {
		return nil, nil
	}
	r := &Results{Folder: folder}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == folder {
			return err
		}
		below, err := filepath.Rel(folder, path)
		switch {
		case err != nil:
			return err
		case disk.IsAside(d.Name()) || strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case sweep.IsSweep(path):
			r.Sweeps = append(r.Sweeps, path)
			return filepath.SkipDir
		case isRun(path):
			r.Runs = append(r.Runs, path)
			return filepath.SkipDir
		case strings.Count(below, string(filepath.Separator)) >= maxDepth-1:
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil || len(r.Runs)+len(r.Sweeps) == 0 {
		return nil, err
	}
	return r, nil
}

func isRun(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "summary.json"))
	return err == nil
}

// Index returns the page that lists results. Its links are relative to the folder of the page.
func Index(r *Results, page string) *report.Document {
	d := &report.Document{Title: "Results", Subtitle: filepath.Clean(r.Folder)}
	failed := 0
	runs := &report.Table{Columns: report.Heads("run", "scenario", "seed|", "verdict", "simulated|", "flows|",
		"FCT p99|", "slowdown p50|", "slowdown p99|", "pauses|", "lossless drops|", "lossy drops|")}
	for _, folder := range r.Runs {
		row, ok := runRow(r.Folder, folder, page)
		if !ok {
			failed++
		}
		runs.Rows = append(runs.Rows, row)
	}
	sweeps := &report.Table{Columns: report.Heads("sweep", "scenario", "varied", "seeds|", "points|", "done|",
		"verdict")}
	for _, folder := range r.Sweeps {
		row, ok := sweepRow(r.Folder, folder, page)
		if !ok {
			failed++
		}
		sweeps.Rows = append(sweeps.Rows, row)
	}
	lead := fmt.Sprintf("%s and %s, all without lossless drops, deadlocks or failures.", count(len(r.Runs), "run"),
		count(len(r.Sweeps), "sweep"))
	if failed > 0 {
		lead = fmt.Sprintf("%d of %d runs and sweeps had lossless drops, deadlocks or failures.", failed,
			len(r.Runs)+len(r.Sweeps))
	}
	first := report.Section{Blocks: []report.Block{report.Lead(lead)}}
	d.Sections = append(d.Sections, first)
	if len(runs.Rows) > 0 {
		d.Sections = append(d.Sections, report.Section{Heading: "Runs", Blocks: []report.Block{runs}})
	}
	if len(sweeps.Rows) > 0 {
		d.Sections = append(d.Sections, report.Section{Heading: "Sweeps", Blocks: []report.Block{sweeps}})
	}
	return d
}

// named returns the cell with the name of a results folder, linked to its report if there is one.
func named(root, folder, page string) report.Cell {
	name, err := filepath.Rel(root, folder)
	if err != nil {
		name = folder
	}
	c := report.Cell{Text: filepath.ToSlash(name)}
	file := filepath.Join(folder, run.ReportFile)
	if _, err := os.Stat(file); err != nil {
		return c
	}
	if link, err := filepath.Rel(page, file); err == nil {
		c.Link = filepath.ToSlash(link)
	}
	return c
}

// unreadable returns the row of a folder that cannot be read.
func unreadable(first report.Cell, columns, at int, err error) []report.Cell {
	row := make([]report.Cell, columns)
	row[0], row[at] = first, report.Cell{Text: "unreadable: " + err.Error(), Mark: report.Bad}
	return row
}

// runRow returns the row of a run, and whether its verdict is good.
func runRow(root, folder, page string) ([]report.Cell, bool) {
	first := named(root, folder, page)
	s, err := metrics.ReadSummary(folder)
	if err != nil {
		return unreadable(first, 12, 3, err), false
	}
	verdict := report.Cell{Text: "no lossless drops", Mark: report.Good, Badge: true}
	var words []string
	for _, b := range runreport.Badges(s) {
		if b.Mark != report.Good {
			words = append(words, b.Text)
			if verdict.Mark != report.Bad {
				verdict.Mark = b.Mark
			}
		}
	}
	if len(words) > 0 {
		verdict.Text = strings.Join(words, ", ")
	}
	fct, p50, p99 := "-", "-", "-"
	if s.FCT != nil {
		fct, p50, p99 = s.FCT.P99.Human(), fmt.Sprintf("%.2f", s.Slowdown.P50), fmt.Sprintf("%.2f", s.Slowdown.P99)
	}
	row := []report.Cell{first, {Text: s.Scenario}, {Text: fmt.Sprint(s.Seed)}, verdict, {Text: s.End.Human()},
		{Text: units.Thousands(uint64(s.Flows.Measured))}, {Text: fct}, {Text: p50}, {Text: p99}}
	for _, n := range []uint64{s.Pauses.Pauses, s.Drops.Lossless, s.Drops.Overflow} {
		row = append(row, report.Cell{Text: units.Thousands(n)})
	}
	if s.Drops.Lossless > 0 {
		row[10].Mark = report.Bad
	}
	return row, verdict.Mark != report.Bad
}

// sweepRow returns the row of a sweep, and whether no point failed.
func sweepRow(root, folder, page string) ([]report.Cell, bool) {
	first := named(root, folder, page)
	o, err := sweep.ReadOverview(folder)
	if err != nil {
		return unreadable(first, 7, 6, err), false
	}
	verdict := report.Cell{Text: "complete", Mark: report.Good, Badge: true}
	switch {
	case o.Failed > 0:
		verdict = report.Cell{Text: fmt.Sprintf("%d points failed; %s", o.Failed, o.First), Mark: report.Bad}
	case o.Done < o.Points:
		verdict = report.Cell{Text: fmt.Sprintf("%d points missing", o.Points-o.Done), Mark: report.Warn, Badge: true}
	}
	return []report.Cell{first, {Text: o.Scenario}, {Text: strings.Join(o.Keys, ", ")}, {Text: fmt.Sprint(o.Seeds)},
		{Text: fmt.Sprint(o.Points)}, {Text: fmt.Sprint(o.Done)}, verdict}, o.Failed == 0
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
