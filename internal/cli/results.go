package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
)

// results is the folder of a run.
type results struct {
	folder string
	files  []resultFile // written so far
}

type resultFile struct{ name, what string }

// newResults creates the folder and checks that it can be written to.
func newResults(folder string) (*results, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	probe, err := os.CreateTemp(folder, ".xoff-*")
	if err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	return &results{folder: folder}, nil
}

// write writes every file of a run.
func (r *results) write(o *metrics.Outcome, s *metrics.Summary, cfg *scenario.Config, csv bool) error {
	resolved, err := cfg.Marshal()
	if err != nil {
		return err
	}
	if err := r.file("summary.json", "the numbers above, and more", s.Write); err != nil {
		return err
	}
	if err := r.file("flows.parquet", "one row per flow", o.WriteParquet); err != nil {
		return err
	}
	if csv {
		if err := r.file("flows.csv", "the same as text", o.WriteCSV); err != nil {
			return err
		}
	}
	return r.file("scenario.resolved.yaml", "the scenario with every default; runs again with `xoff run`", func(w io.Writer) error {
		_, err := w.Write(resolved)
		return err
	})
}

// file writes one file. It appears under its name only when it is complete.
func (r *results) file(name, what string, write func(io.Writer) error) (err error) {
	path := filepath.Join(r.folder, name)
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	buf := bufio.NewWriter(f)
	if err := write(buf); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	r.files = append(r.files, resultFile{name, what})
	return os.Rename(f.Name(), path)
}
