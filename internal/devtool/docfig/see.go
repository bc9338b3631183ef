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

// stormFigure draws one figure of the report of the storm of docs/see.md, by the commands that
// stand there.
func stormFigure(name string) func(*studio) (plot.Drawing, error) {
	return func(s *studio) (plot.Drawing, error) {
		folder, err := s.recordedStorm()
		if err != nil {
			return nil, err
		}
		r, err := runreport.Open(folder)
		if err != nil {
			return nil, err
		}
		d, err := r.Document()
		if err != nil {
			return nil, err
		}
		for _, f := range d.Figures() {
			if f.Name == name {
				return f.Plot, nil
			}
		}
		return nil, fmt.Errorf("the report has no figure %s", name)
	}
}

// recordedStorm runs it once.
func (s *studio) recordedStorm() (string, error) {
	folder := filepath.Join(s.runs, "storm")
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	e, err := examples.Get("incast")
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.runs, "mine.yaml")
	if err := os.WriteFile(file, []byte(e.Text), 0o600); err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	if code := cli.Run([]string{"run", file, "--cc", "none", "-o", folder, "--explain", "--report=false", "--quiet"}, &out, &errs); code != 0 {
		return "", fmt.Errorf("%d: %s", code, errs.String())
	}
	return folder, nil
}
