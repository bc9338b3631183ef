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

// Names of files in a folder of results.
const (
	SummaryFile  = "summary.json"
	ResolvedFile = "scenario.resolved.yaml"
	ReplayFile   = "scenario.replay.yaml"
	ReportFile   = "report.html"
	SweepFile    = "manifest.json" // in the folder of a sweep, whose points are runs
)

// Folder takes the results of a run. A second run in the same folder replaces the
// files of the first, and only them, when all of its own are complete.
type Folder struct {
	stage *disk.Stage // nil: nothing is written
	files []File
}

// File is a file of results and what it holds.
type File struct{ Name, What string }

// WriteError says that results could not be written: other runs would not fare
// better.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// newFolder creates the folder and checks that it can be written to; the one without
// a name takes nothing. Results of another scenario are overwritten only by force:
// otherwise it is the first of NAME, NAME-2, NAME-3 that has none.
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
		// Once more, now that nobody else can write there.
		if force || !others(folder, cfg) {
			return &Folder{stage: stage}, nil
		}
		stage.Discard()
	}
}

// FreeFolder is where the results of a scenario that are to be in a folder go: there by
// force, else to the first of NAME, NAME-2, NAME-3 that has none of another scenario.
func FreeFolder(name string, cfg *scenario.Config, force bool) string {
	for n := 1; ; n++ {
		if folder := disk.Numbered(name, n); force || !others(folder, cfg) {
			return folder
		}
	}
}

// name is where the results go, empty for nowhere.
func (f *Folder) name() string {
	if f.stage == nil {
		return ""
	}
	return f.stage.Folder
}

// others reports whether a folder holds results of anything but this scenario.
func others(folder string, cfg *scenario.Config) bool {
	if exists(folder, SweepFile) {
		return true
	}
	return exists(folder, SummaryFile) && !holds(folder, cfg)
}

func exists(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// holds reports whether the results in a folder are of this scenario, with its seed
// and the files that it reads.
func holds(folder string, cfg *scenario.Config) bool {
	old, err := scenario.ReadFile(filepath.Join(folder, ResolvedFile))
	if err != nil {
		return false
	}
	was, err := old.Canonical()
	if err != nil {
		return false
	}
	is, err := cfg.Canonical()
	if err != nil || !bytes.Equal(was, is) {
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

// File writes one file, aside until all are complete.
func (f *Folder) File(name, what string, write func(io.Writer) error) error {
	if err := f.stage.File(name, write); err != nil {
		return &WriteError{err}
	}
	f.files = append(f.files, File{name, what})
	return nil
}

// create begins a file that is written while the run goes. It must be closed
// before the others are written.
func (f *Folder) create(name, what string) (*disk.File, error) {
	file, err := f.stage.Create(name)
	if err != nil {
		return nil, &WriteError{fmt.Errorf("cannot write %s: %w", name, err)}
	}
	f.files = append(f.files, File{name, what})
	return file, nil
}

// text writes a file that is there already.
func (f *Folder) text(name, what string, data []byte) error {
	return f.File(name, what, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// inputs copies the files that a scenario reads: the resolved one, which stands
// beside the copies, runs again to the same bytes wherever the folder is.
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
		err = f.File(in.Name, "a file that the scenario reads, copied", func(w io.Writer) error {
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

// flowTrace writes the flows of a run, and the scenario that replays them.
func (f *Folder) flowTrace(b *fabric.Fabric) error {
	replay, err := b.Replay()
	if err != nil {
		return err
	}
	if err := f.File(fabric.TraceFile, "the flows that were offered, with their dependencies", b.WriteTrace); err != nil {
		return err
	}
	return f.text(ReplayFile, "runs these flows again with `xoff run`", replay)
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
	return f.text(ResolvedFile, "the scenario with every default; runs again with `xoff run`", resolved)
}

// table writes a table as parquet, and as text when that is wanted.
func (f *Folder) table(t *metrics.File, csv bool) error {
	return f.File(t.Name+".parquet", t.What, func(w io.Writer) error {
		if !csv {
			return t.Write(w, nil)
		}
		return f.File(t.Name+".csv", "the same as text", func(text io.Writer) error { return t.Write(w, text) })
	})
}

// Aside returns the path of the files written so far. They move to the folder of the
// results when all are complete.
func (f *Folder) Aside() string { return f.stage.Aside() }

// listed returns the files in the order in which people look at them.
func (f *Folder) listed() []File {
	list := slices.Clone(f.files)
	slices.SortStableFunc(list, func(a, b File) int {
		rank := map[string]int{SummaryFile: -2, ReportFile: -1}
		return rank[a.Name] - rank[b.Name]
	})
	return list
}
