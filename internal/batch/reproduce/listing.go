package reproduce

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/sys/disk"
)

// Listed describes an experiment for xoff reproduce --list.
type Listed struct {
	ID     string          `json:"id"`
	Figure string          `json:"figure"`
	Title  string          `json:"title"`
	Claims []string        `json:"claims"`
	Scales map[string]Cost `json:"scales"`
}

// Cost is the estimated cost of an experiment at a scale.
type Cost struct {
	Points  int     `json:"points"`
	Seconds float64 `json:"cpu_seconds"`
}

// List describes experiments.
func List(list []*Experiment) []Listed {
	out := []Listed{}
	for _, e := range list {
		l := Listed{ID: e.ID, Figure: e.Figure, Title: e.Title, Claims: []string{}, Scales: map[string]Cost{}}
		for _, c := range e.Claims {
			l.Claims = append(l.Claims, c.ID)
		}
		for _, s := range []string{Quick, Full} {
			if e.Has(s) {
				n, seconds := e.Cost(s)
				l.Scales[s] = Cost{n, seconds}
			}
		}
		out = append(out, l)
	}
	return out
}

// ReadFolder reads the experiments of a folder.
func ReadFolder(folder string) ([]*Experiment, error) {
	list, err := Read(os.DirFS(folder), folder)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("--from: %s has no experiments (expected a folder with PAPER/paper.yaml and PAPER/FIGURE.yaml)", folder)
	}
	return list, err
}

// ReportFile returns the path of the report of a result in a folder.
func (r *Result) ReportFile(folder string) string {
	return filepath.Join(folder, strings.TrimSuffix(FileName(r.Experiment, r.Scale), ".json")+".html")
}

// SaveReport writes the compact result and the report of an experiment, and its figure in
// the given formats.
func (e *Experiment) SaveReport(r *Result, folder string, formats []string) error {
	if err := r.Save(folder); err != nil {
		return err
	}
	d, err := Report(Single(e, r))
	if err != nil {
		return err
	}
	path := r.ReportFile(folder)
	if err := disk.WriteFile(path, d.HTML); err != nil {
		return err
	}
	_, err = d.WriteFigures(folder, strings.TrimSuffix(filepath.Base(path), ".html"), formats)
	return err
}

// Judgement summarises results of experiments for the exit code.
type Judgement struct {
	Code      int      // highest exit code of a point
	Failures  []string // messages of failed points
	Surprises []string // claims with an unexpected verdict
}

// JudgeAll judges the results of experiments; results[i] belongs to list[i].
func JudgeAll(list []*Experiment, results []*Result) Judgement {
	var all Judgement
	for i, e := range list {
		c, lines := results[i].Trouble()
		all.Code, all.Failures = max(all.Code, c), append(all.Failures, lines...)
		for _, j := range e.Judge(results[i]) {
			if j.Surprise() {
				all.Surprises = append(all.Surprises, fmt.Sprintf("%s is %s (expected %s)", j.ID, j.Verdict, j.Expected))
			}
		}
	}
	return all
}

// PapersOf returns the names of the papers of chosen experiments. If the user named none,
// it returns the papers with stored results, or all if there are none.
func PapersOf(all, chosen []*Experiment, named bool, data string) ([]string, error) {
	if !named {
		some, err := StoredPapers(all, data)
		if err != nil || some != nil {
			return some, err
		}
	}
	var papers []string
	for _, e := range chosen {
		if !slices.Contains(papers, e.Paper.Name) {
			papers = append(papers, e.Paper.Name)
		}
	}
	return papers, nil
}
