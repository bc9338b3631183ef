package reproduce

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

// SchemaVersion numbers the layout of stored results.
const SchemaVersion = 1

// Result is what is kept of an experiment at one scale: enough to judge its claims
// and to draw its figure again.
type Result struct {
	Schema     int           `json:"schema"`
	Experiment string        `json:"experiment"`
	Scale      string        `json:"scale"`
	Executable string        `json:"executable_sha256"`      // of the program that ran it
	Seconds    float64       `json:"core_seconds,omitempty"` // from start to end of its runs, times their workers, all of them
	Points     []PointResult `json:"points"`
}

// PointResult is what is kept of one run. It is the same for every build of the
// program that simulates the same.
type PointResult struct {
	Place
	Seed          uint64                   `json:"seed"`
	Scenario      string                   `json:"scenario_sha256"` // of the resolved scenario, its flows and its fabric
	Code          int                      `json:"code"`            // exit code of the run
	Message       string                   `json:"message,omitempty"`
	Values        map[string]float64       `json:"values"` // metrics and counts
	Distributions map[string]*Distribution `json:"distributions,omitempty"`
}

// Place is where in the figure a point belongs; what does not exist is empty.
type Place struct {
	Case   string `json:"case,omitempty"`
	Scheme string `json:"scheme"`
	X      string `json:"x,omitempty"`
}

func (p Place) String() string {
	return strings.Join(slices.DeleteFunc([]string{p.Case, p.Scheme, p.X}, func(s string) bool { return s == "" }), ", ")
}

// FileName is that of the stored result of an experiment.
func FileName(id, scale string) string {
	return strings.ReplaceAll(id, "/", "-") + "-" + scale + ".json"
}

// Write writes the result as JSON, a line per point.
func (r *Result) Write(w io.Writer) error {
	head, err := json.Marshal(Result{Schema: r.Schema, Experiment: r.Experiment, Scale: r.Scale, Executable: r.Executable, Seconds: math.Round(r.Seconds), Points: []PointResult{}})
	if err != nil {
		return err
	}
	text := strings.TrimSuffix(string(head), "[]}") + "[\n"
	for i := range r.Points {
		line, err := r.Points[i].encode()
		if err != nil {
			return err
		}
		text += line
		if i+1 < len(r.Points) {
			text += ","
		}
		text += "\n"
	}
	_, err = io.WriteString(w, text+"]}\n")
	return err
}

// encode is the line of a point: what --verify compares.
func (p *PointResult) encode() (string, error) {
	line, err := json.Marshal(p)
	return string(line), err
}

// Save writes the result into a folder.
func (r *Result) Save(folder string) error {
	if err := disk.Prepare(folder); err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(folder, FileName(r.Experiment, r.Scale)), r.Write)
}

// hashLength is that of SHA-256 as text.
const hashLength = 64

// Load reads a stored result; it is nil when there is none.
func Load(folder, id, scale string) (*Result, error) {
	return load(filepath.Join(folder, FileName(id, scale)), id, scale)
}

func load(path, id, scale string) (*Result, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Schema != SchemaVersion || r.Experiment != id || r.Scale != scale || len(r.Executable) != hashLength {
		return nil, fmt.Errorf("%s holds %s at scale %s in schema %d; allowed: %s, %s, %d (run it again)", path, r.Experiment, r.Scale, r.Schema, id, scale, SchemaVersion)
	}
	return r, nil
}

// places returns the points of the figure, seeds aside, in order.
func (r *Result) places() []Place {
	var list []Place
	for i := range r.Points {
		if p := r.Points[i].Place; !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// series are the values of a metric at a place, by seed; ok is false where a seed
// has none.
func (r *Result) series(e *Experiment, at Place, metric, stat string) (values []float64, ok bool) {
	ok = true
	for i := range r.Points {
		p := &r.Points[i]
		if p.Place != at {
			continue
		}
		v, known := p.Values[metric]
		if m := e.metric(metric); m != nil && m.Distribution() {
			if d := p.Distributions[metric]; d != nil {
				v, known = d.Statistics[stat]
			}
		}
		if !known {
			ok = false
			continue
		}
		values = append(values, v)
	}
	return values, ok && len(values) > 0
}

// runs counts those of a place.
func (r *Result) runs(at Place) int {
	n := 0
	for i := range r.Points {
		if r.Points[i].Place == at {
			n++
		}
	}
	return n
}

// Trouble lists points that failed.
func (r *Result) Trouble() (code int, lines []string) {
	for i := range r.Points {
		if p := &r.Points[i]; p.Code != 0 {
			code = max(code, p.Code)
			lines = append(lines, fmt.Sprintf("%s: %s, seed %d: %s", r.Experiment, p.Place, p.Seed, p.Message))
		}
	}
	return code, lines
}

// sample is the mean over seeds with its interval.
func sample(values []float64) sweep.Sample {
	s, _ := sweep.SampleOf(values)
	return s
}
