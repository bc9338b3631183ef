package tune

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strconv"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

// Names of the files of an answer.
const (
	answerFile   = "tune.json"
	settingsFile = "settings.csv"
	tradeoffFile = "tradeoff.csv"
	frontFile    = "tradeoff.svg"
	patchFile    = "patch.yaml"
)

// File is a file of an answer.
type File struct{ Path, About string }

// Save writes the files of an answer, and the table of all points, to the folder of the store.
func (a *Answer) Save() ([]File, error) {
	s := a.study
	store := &s.runner.Store
	t, err := sweep.NewTable(s.Grid, s.rows, store)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(store.List(s.Grid, s.points), store.Save(t)); err != nil {
		return nil, err
	}
	var files []File
	write := func(name, about string, f func(io.Writer) error) {
		path := filepath.Join(store.Folder, name)
		err = errors.Join(err, disk.WriteFile(path, f))
		files = append(files, File{path, about})
	}
	write(run.ReportFile, "tables and figures, for a browser", a.Page().HTML)
	if len(a.Set) > 0 {
		write(patchFile, "changes of the scenario", a.WritePatch)
	}
	write(answerFile, "the whole answer", a.WriteJSON)
	write(settingsFile, "one row per setting", func(w io.Writer) error { return a.writeCSV(w, a.all()) })
	if len(a.Goals) == 2 {
		write(tradeoffFile, "settings that no other one dominates", func(w io.Writer) error { return a.writeCSV(w, a.Front) })
		write(frontFile, "the trade-off as a figure", a.tradeoff().SVG)
	}
	files = append(files, File{filepath.Join(store.Folder, "sweep.csv"), "one row per run with all metrics; also as .parquet and .json"})
	return files, errors.Join(err, store.Tidy())
}

// all returns the indexes of all settings.
func (a *Answer) all() []int {
	var list []int
	for i := range a.Settings {
		list = append(list, i)
	}
	return list
}

// WriteJSON writes the answer as JSON.
func (a *Answer) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(a)
}

// writeCSV writes one line per chosen setting.
func (a *Answer) writeCSV(w io.Writer, chosen []int) error {
	out := csv.NewWriter(w)
	head := []string{"setting"}
	for _, k := range a.Keys {
		head = append(head, k.Key)
	}
	head = append(head, "state", "seeds")
	for _, g := range a.Goals {
		head = append(head, g.Metric, g.Metric+".ci95")
	}
	if err := out.Write(append(head, "violates")); err != nil {
		return err
	}
	for _, i := range chosen {
		x := &a.Settings[i]
		line := append(append([]string{a.role(i)}, x.Values...), x.State, strconv.Itoa(x.Seeds))
		for _, sample := range x.Goals {
			if sample == nil {
				line = append(line, "", "")
				continue
			}
			line = append(line, strconv.FormatFloat(sample.Mean, 'f', -1, 64), strconv.FormatFloat(sample.Half, 'f', -1, 64))
		}
		first := ""
		if len(x.Violates) > 0 {
			first = x.Violates[0]
		}
		if err := out.Write(append(line, first)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// role names a setting: today, best, or its number.
func (a *Answer) role(i int) string {
	switch i {
	case 0:
		return "today"
	case a.Best:
		return "best"
	}
	return strconv.Itoa(i)
}

// cell formats the mean of a goal and the half width of its interval.
func (a *Answer) cell(x *Setting, goal int) string {
	sample := x.Goals[goal]
	if sample == nil {
		return "-"
	}
	text := metrics.Format(a.Goals[goal].Metric, sample.Mean)
	if sample.N > 1 {
		text += " ± " + metrics.Format(a.Goals[goal].Metric, sample.Half)
	}
	return text
}
