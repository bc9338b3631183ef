package run

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
)

// Names of files in a results folder.
const (
	SummaryFile  = "summary.json"
	ResolvedFile = "scenario.resolved.yaml"
	ReplayFile   = "scenario.replay.yaml"
	ReportFile   = "report.html"
	SweepFile    = "manifest.json" // in the folder of a sweep
)

// Folder collects the result files of a run. A second run in the same folder replaces the
// files of the first, and no others, once all of its own are complete.
type Folder struct {
	stage *disk.Stage // nil: write nothing
	files []File
}

// File is the name of a result file and a description of its contents.
type File struct{ Name, What string }

// WriteError reports that results could not be written. Other runs would fail in the same
// way.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// newFolder creates a results folder and checks that it is writable. With an empty name
// nothing is written. It uses FreeFolder to choose the folder.
func newFolder(name string, cfg *scenario.Config, force bool) (*Folder, error) {
	if name == "" {
		return &Folder{}, nil
	}
	for {
		folder := FreeFolder(name, cfg, force)
		stage, err := disk.NewStage(folder)
		if err != nil {
			return nil, &WriteError{err}
		}
		// Check again, now that no other process can write there.
		if force || !hasOtherResults(folder, cfg) {
			return &Folder{stage: stage}, nil
		}
		stage.Discard()
	}
}

// FreeFolder returns the folder for the results of a scenario: name itself with force,
// otherwise the first of NAME, NAME-2, NAME-3 ... without results of another scenario.
func FreeFolder(name string, cfg *scenario.Config, force bool) string {
	for n := 1; ; n++ {
		if folder := disk.Numbered(name, n); force || !hasOtherResults(folder, cfg) {
			return folder
		}
	}
}

// name returns the path of the folder, or an empty string if nothing is written.
func (f *Folder) name() string {
	if f.stage == nil {
		return ""
	}
	return f.stage.Folder
}

// hasOtherResults reports whether a folder contains results of another scenario.
func hasOtherResults(folder string, cfg *scenario.Config) bool {
	if exists(folder, SweepFile) {
		return true
	}
	return exists(folder, SummaryFile) && !hasResultsOf(folder, cfg)
}

func exists(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// hasResultsOf reports whether the results in a folder are from this scenario, with the
// same seed and input files.
func hasResultsOf(folder string, cfg *scenario.Config) bool {
	old, err := scenario.ReadFile(filepath.Join(folder, ResolvedFile))
	if err != nil {
		return false
	}
	before, err := old.Canonical()
	if err != nil {
		return false
	}
	now, err := cfg.Canonical()
	if err != nil || !bytes.Equal(before, now) {
		return false
	}
	_, inputs, err := cfg.Standalone()
	for _, in := range inputs {
		if !sameFile(in.Path, filepath.Join(folder, in.Name)) {
			return false
		}
	}
	return err == nil
}

func sameFile(a, b string) bool {
	x, err := os.ReadFile(a)
	if err != nil {
		return false
	}
	y, err := os.ReadFile(b)
	return err == nil && bytes.Equal(x, y)
}

func (f *Folder) discard() {
	if f.stage != nil {
		f.stage.Discard()
	}
}

// File writes one file. It appears in the folder when all files are complete.
func (f *Folder) File(name, what string, write func(io.Writer) error) error {
	if err := f.stage.File(name, write); err != nil {
		return &WriteError{err}
	}
	f.files = append(f.files, File{name, what})
	return nil
}

// create opens a file that is written during the run. It must be closed before the other
// files are written.
func (f *Folder) create(name, what string) (*disk.File, error) {
	file, err := f.stage.Create(name)
	if err != nil {
		return nil, &WriteError{fmt.Errorf("cannot write %s: %w", name, err)}
	}
	f.files = append(f.files, File{name, what})
	return file, nil
}

// text writes data to a file.
func (f *Folder) text(name, what string, data []byte) error {
	return f.File(name, what, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// inputs copies the files that a scenario reads. Next to the copies, the resolved scenario
// gives the same results wherever the folder is moved.
func (f *Folder) inputs(cfg *scenario.Config) error {
	if f.stage == nil {
		return nil
	}
	_, inputs, err := cfg.Standalone()
	if err != nil {
		return err
	}
	for _, in := range inputs {
		from, err := os.Open(in.Path)
		if err != nil {
			return err
		}
		err = f.File(in.Name, "copy of a file that the scenario reads", func(w io.Writer) error {
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

// flowTrace writes the flows of a run and the scenario that replays them.
func (f *Folder) flowTrace(b *fabric.Fabric) error {
	replay, err := b.Replay()
	if err != nil {
		return err
	}
	if err := f.File(fabric.TraceFile, "offered flows and their dependencies", b.WriteTrace); err != nil {
		return err
	}
	return f.text(ReplayFile, "scenario that replays these flows with `xoff run`", replay)
}

// tables writes the tables of a run and its resolved scenario.
func (f *Folder) tables(o *metrics.Outcome, cfg *scenario.Config, csv bool) error {
	resolved, _, err := cfg.Standalone()
	if err != nil {
		return err
	}
	for _, t := range o.Tables() {
		if err := f.table(&t, csv); err != nil {
			return err
		}
	}
	return f.text(ResolvedFile, "scenario with all defaults; repeat the run with `xoff run`", resolved)
}

// table writes a table as Parquet, and also as CSV if csv is set.
func (f *Folder) table(t *metrics.File, csv bool) error {
	return f.File(t.Name+".parquet", t.What, func(w io.Writer) error {
		if !csv {
			return t.Write(w, nil)
		}
		return f.File(t.Name+".csv", "the same table as CSV", func(text io.Writer) error { return t.Write(w, text) })
	})
}

// Aside returns the staging path of the files written so far. They move to the results
// folder when all are complete.
func (f *Folder) Aside() string { return f.stage.Aside() }

// listed returns the files in the order of display: summary and report first.
func (f *Folder) listed() []File {
	list := slices.Clone(f.files)
	slices.SortStableFunc(list, func(a, b File) int {
		rank := map[string]int{SummaryFile: -2, ReportFile: -1}
		return rank[a.Name] - rank[b.Name]
	})
	return list
}
