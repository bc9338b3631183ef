package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xoff-net/xoff/cli"
	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/runreport"
)

// stormFigure draws one figure of the report in docs/see.md, which it makes with the commands
// on that page.
func stormFigure(name string) func(*runner) (plot.Drawing, error) {
	return func(r *runner) (plot.Drawing, error) {
		folder, err := r.recordedStorm()
		if err != nil {
			return nil, err
		}
		rep, err := runreport.Open(folder)
		if err != nil {
			return nil, err
		}
		d, err := rep.Document()
		if err != nil {
			return nil, err
		}
		for _, f := range d.Figures() {
			if f.Name == name {
				return f.Plot, nil
			}
		}
		return nil, fmt.Errorf("no figure %q in the report", name)
	}
}

// recordedStorm runs the storm of docs/see.md once and returns the folder of its results.
func (r *runner) recordedStorm() (string, error) {
	folder := filepath.Join(r.dir, "storm")
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	e, err := examples.Get("incast")
	if err != nil {
		return "", err
	}
	file := filepath.Join(r.dir, "mine.yaml")
	if err := os.WriteFile(file, []byte(e.Text), 0o600); err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	if code := cli.Run([]string{"run", file, "--cc", "none", "-o", folder, "--explain", "--report=false", "--quiet"}, &out, &errs); code != 0 {
		return "", fmt.Errorf("xoff run: exit code %d: %s", code, errs.String())
	}
	return folder, nil
}
