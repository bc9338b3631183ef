package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/runreport"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scenario/build"
)

// results is the folder of a run. A second run in the same folder replaces the
// files of the first, and only them, when all of its own are complete.
type results struct {
	stage      *disk.Stage
	files      []resultFile
	withReport bool
	noReport   error // why there is none
}

type resultFile struct{ name, what string }

// newResults creates the folder and checks that it can be written to.
func newResults(folder string) (*results, error) {
	stage, err := disk.NewStage(folder)
	if err != nil {
		return nil, err
	}
	return &results{stage: stage}, nil
}

// write writes every file of a run, aside. The summary comes last: a folder that
// has one is complete.
func (r *results) write(o *metrics.Outcome, s *metrics.Summary, cfg *scenario.Config, csv bool) error {
	resolved, _, err := cfg.Standalone()
	if err != nil {
		return err
	}
	for _, t := range o.Tables() {
		if err := r.table(&t, csv); err != nil {
			return err
		}
	}
	err = r.file("scenario.resolved.yaml", "the scenario with every default; runs again with `xoff run`", func(w io.Writer) error {
		_, err := w.Write(resolved)
		return err
	})
	if err != nil {
		return err
	}
	if r.withReport {
		if err := r.report(s); err != nil {
			return err
		}
	}
	return r.file("summary.json", "the numbers above, and more", s.Write)
}

// maxReportRows is up to how many rows the report of a run draws a probe: some
// tenths of a second is what a run may take longer. `xoff report` has no limit.
const maxReportRows = 50_000

// report makes the report from the files that were written. Results do not get
// lost because there is none.
func (r *results) report(s *metrics.Summary) error {
	run := &runreport.Run{Folder: r.stage.Aside(), Summary: s, MaxRows: maxReportRows}
	var page bytes.Buffer
	d, err := run.Document()
	if err == nil {
		err = d.HTML(&page)
	}
	if err != nil {
		r.noReport = err
		return nil
	}
	return r.file(runreport.File, "the same with tables and figures, for a browser", func(w io.Writer) error {
		_, err := page.WriteTo(w)
		return err
	})
}

// inputs copies the files that a scenario reads: the resolved one, which stands
// beside the copies, runs again to the same bytes wherever the folder is.
func (r *results) inputs(cfg *scenario.Config) error {
	_, inputs, err := cfg.Standalone()
	if err != nil {
		return err
	}
	for _, in := range inputs {
		from, err := os.Open(in.Path)
		if err != nil {
			return err
		}
		err = r.file(in.Name, "a file that the scenario reads, copied", func(w io.Writer) error {
			_, err := io.Copy(w, from)
			return err
		})
		_ = from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// commit makes the files the contents of the folder.
func (r *results) commit() error { return r.stage.Commit() }

// trace writes the flows of a run, and the scenario that replays them.
func (r *results) trace(b *build.Built) error {
	replay, err := b.Replay()
	if err != nil {
		return err
	}
	if err := r.file(build.TraceFile, "the flows that were offered, with their dependencies", b.WriteTrace); err != nil {
		return err
	}
	return r.file("scenario.replay.yaml", "runs these flows again with `xoff run`", func(w io.Writer) error {
		_, err := w.Write(replay)
		return err
	})
}

// table writes a table as parquet, and as text when that is wanted.
func (r *results) table(t *metrics.File, csv bool) error {
	return r.file(t.Name+".parquet", t.What, func(w io.Writer) error {
		if !csv {
			return t.Write(w, nil)
		}
		return r.file(t.Name+".csv", "the same as text", func(text io.Writer) error { return t.Write(w, text) })
	})
}

// create begins a file that is written while the run goes. It must be closed
// before the others are written.
func (r *results) create(name, what string) (*disk.File, error) {
	f, err := r.stage.Create(name)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", name, err)
	}
	r.files = append(r.files, resultFile{name, what})
	return f, nil
}

// file writes one file.
func (r *results) file(name, what string, write func(io.Writer) error) error {
	if err := r.stage.File(name, write); err != nil {
		return err
	}
	r.files = append(r.files, resultFile{name, what})
	return nil
}

// listed returns the files in the order in which people look at them.
func (r *results) listed() []resultFile {
	list := slices.Clone(r.files)
	slices.SortStableFunc(list, func(a, b resultFile) int {
		rank := map[string]int{"summary.json": -2, runreport.File: -1}
		return rank[a.name] - rank[b.name]
	})
	return list
}
