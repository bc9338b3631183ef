// Command docfig runs scenarios and draws the pictures of the documentation into a folder.
// Run it from the root of the repository; `make figures` does.
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
	draw func(*runner) (plot.Drawing, error)
}{
	{"demo.svg", coloured(demo)},
	{"hybrid/issues.svg", coloured(issues)},
	{"hybrid/burst.svg", coloured(burst)},
	{"interdc/drain.svg", coloured(drain)},
	{"deadlock/steps.svg", coloured(steps)},
	{"see/topology.svg", stormFigure("topology")},
	{"see/timeline.svg", stormFigure("timeline")},
}

// coloured wraps draw and gives every scheme its own colour in the figure.
func coloured(draw func(*runner) (*plot.Figure, error)) func(*runner) (plot.Drawing, error) {
	return func(r *runner) (plot.Drawing, error) {
		f, err := draw(r)
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

func drawAll(folder string) error {
	dir, err := os.MkdirTemp("", "docfig")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &runner{dir: dir}
	for _, p := range pictures {
		f, err := p.draw(r)
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if err := write(filepath.Join(folder, p.file), f); err != nil {
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

// runner runs scenarios and keeps their results in numbered folders.
type runner struct {
	dir string
	n   int // runs so far
}

// example runs an example with overrides and returns the folder of its results.
func (r *runner) example(name string, set ...string) (string, error) {
	e, err := examples.Get(name)
	if err != nil {
		return "", err
	}
	return r.run(e.Name, []byte(e.Text), set)
}

// run runs a scenario text with overrides and returns the folder of its results.
func (r *runner) run(name string, text []byte, set []string) (string, error) {
	cfg, err := scenario.Parse(name, text, set...)
	if err != nil {
		return "", err
	}
	r.n++
	result, err := run.Scenario(context.Background(), cfg, run.Options{Folder: filepath.Join(r.dir, fmt.Sprint(r.n)), Workers: 2})
	if err != nil {
		return "", err
	}
	return result.Folder, result.Unwritten
}

// samples returns the times, in seconds, and values of a probe's column. It keeps only the
// rows whose other columns equal the given numbers and words.
func samples(folder, probe, value string, numbers map[string]float64, words map[string]string) (x, y []float64, err error) {
	path := filepath.Join(folder, "probe-"+probe+".parquet")
	columns, err := metrics.ReadColumns(path, "time_ps", value)
	if err != nil {
		return nil, nil, err
	}
	skip := make([]bool, len(columns[0]))
	for key, want := range numbers {
		column, err := metrics.ReadColumns(path, key)
		if err != nil {
			return nil, nil, err
		}
		for i, v := range column[0] {
			skip[i] = skip[i] || v != want
		}
	}
	for key, want := range words {
		column, _, err := metrics.ReadWords(path, key)
		if err != nil {
			return nil, nil, err
		}
		for i, v := range column {
			skip[i] = skip[i] || v != want
		}
	}
	for i, t := range columns[0] {
		if !skip[i] {
			x, y = append(x, t*1e-12), append(y, columns[1][i])
		}
	}
	if len(x) == 0 {
		return nil, nil, fmt.Errorf("%s has no row with %v %v", path, numbers, words)
	}
	return x, y, nil
}
