// Command docfig draws the pictures of the documents that come from runs, into the folder
// that it is given. It is run from the root of the repository.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

var pictures = []struct {
	file string
	draw func(*studio) (plot.Drawing, error)
}{
	{"demo.svg", coloured(demo)},
	{"hybrid/issues.svg", coloured(issues)},
	{"hybrid/burst.svg", coloured(burst)},
	{"interdc/drain.svg", coloured(drain)},
	{"deadlock/steps.svg", coloured(steps)},
	{"see/topology.svg", stormFigure("topology")},
	{"see/timeline.svg", stormFigure("timeline")},
}

// coloured draws a figure in which a scheme has its colour.
func coloured(draw func(*studio) (*plot.Figure, error)) func(*studio) (plot.Drawing, error) {
	return func(s *studio) (plot.Drawing, error) {
		f, err := draw(s)
		if err != nil {
			return nil, err
		}
		f.Colours = colours.Of
		return f, nil
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: docfig FOLDER")
	}
	if err := drawAll(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func drawAll(to string) error {
	runs, err := os.MkdirTemp("", "docfig")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(runs) }()
	s := &studio{runs: runs}
	for _, p := range pictures {
		f, err := p.draw(s)
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if err := write(filepath.Join(to, p.file), f); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, f plot.Drawing) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f.SVG(file); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// studio runs scenarios.
type studio struct {
	runs string
	n    int
}

// example runs an example and returns the folder of its results.
func (s *studio) example(name string, set ...string) (string, error) {
	e, err := examples.Get(name)
	if err != nil {
		return "", err
	}
	return s.run(e.Name, []byte(e.Text), set)
}

func (s *studio) run(name string, text []byte, set []string) (string, error) {
	cfg, err := scenario.Parse(name, text, set...)
	if err != nil {
		return "", err
	}
	s.n++
	r, err := run.Scenario(context.Background(), cfg, run.Options{Folder: filepath.Join(s.runs, fmt.Sprint(s.n)), Workers: 2})
	if err != nil {
		return "", err
	}
	return r.Folder, r.Unwritten
}

// samples reads a column of a probe over time, in seconds, of the rows that have the given
// numbers and words in other columns.
func samples(folder, probe, value string, numbers map[string]float64, words map[string]string) (x, y []float64, err error) {
	path := filepath.Join(folder, "probe-"+probe+".parquet")
	columns, err := metrics.ReadColumns(path, "time_ps", value)
	if err != nil {
		return nil, nil, err
	}
	left := make([]bool, len(columns[0]))
	for key, want := range numbers {
		column, err := metrics.ReadColumns(path, key)
		if err != nil {
			return nil, nil, err
		}
		for i, v := range column[0] {
			left[i] = left[i] || v != want
		}
	}
	for key, want := range words {
		column, _, err := metrics.ReadWords(path, key)
		if err != nil {
			return nil, nil, err
		}
		for i, v := range column {
			left[i] = left[i] || v != want
		}
	}
	for i, t := range columns[0] {
		if !left[i] {
			x, y = append(x, t*1e-12), append(y, columns[1][i])
		}
	}
	if len(x) == 0 {
		return nil, nil, fmt.Errorf("%s has no row with %v %v", path, numbers, words)
	}
	return x, y, nil
}
