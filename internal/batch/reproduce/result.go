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

// SchemaVersion is the version of stored results.
const SchemaVersion = 1

// Result is the stored result of an experiment at one scale: enough to judge its claims and
// to draw its figure.
type Result struct {
	Schema     int           `json:"schema"`
	Experiment string        `json:"experiment"`
	Scale      string        `json:"scale"`
	Executable string        `json:"executable_sha256"`      // executable that ran it
	Seconds    float64       `json:"core_seconds,omitempty"` // total duration of its runs times their workers
	Points     []PointResult `json:"points"`
}

// PointResult is the stored result of one run. It is equal for every build of xoff with the
// same model.
type PointResult struct {
	Position
	Seed          uint64                   `json:"seed"`
	Scenario      string                   `json:"scenario_sha256"` // resolved scenario, its flows and its fabric
	Code          int                      `json:"code"`            // exit code of the run
	Message       string                   `json:"message,omitempty"`
	Values        map[string]float64       `json:"values"` // metrics and counts
	Distributions map[string]*Distribution `json:"distributions,omitempty"`
}

// Position identifies a point of a figure, without its seed. Dimensions that the figure does
// not have are empty.
type Position struct {
	Case   string `json:"case,omitempty"`
	Scheme string `json:"scheme"`
	X      string `json:"x,omitempty"`
}

func (p Position) String() string {
	return strings.Join(slices.DeleteFunc([]string{p.Case, p.Scheme, p.X}, func(s string) bool { return s == "" }), ", ")
}

// FileName returns the file name of a stored result.
func FileName(id, scale string) string {
	return strings.ReplaceAll(id, "/", "-") + "-" + scale + ".json"
}

// Write writes the result as JSON with one line per point.
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

// encode returns the line of a point, which --verify compares.
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

// hashLength is the length of a SHA-256 hash in hexadecimal.
const hashLength = 64

// Load reads a stored result. It returns nil if there is none.
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
		return nil, fmt.Errorf("%s contains %s at scale %s in schema %d (expected %s at scale %s in schema %d); fix: run the experiment again", path, r.Experiment, r.Scale, r.Schema, id, scale, SchemaVersion)
	}
	return r, nil
}

// positions returns the positions of the points, in order.
func (r *Result) positions() []Position {
	var list []Position
	for i := range r.Points {
		if p := r.Points[i].Position; !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// series returns the values of a metric at a position, by seed; ok is false if a seed has
// none.
func (r *Result) series(e *Experiment, at Position, metric, stat string) (values []float64, ok bool) {
	ok = true
	for i := range r.Points {
		p := &r.Points[i]
		if p.Position != at {
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

// runs returns the number of runs at a position.
func (r *Result) runs(at Position) int {
	n := 0
	for i := range r.Points {
		if r.Points[i].Position == at {
			n++
		}
	}
	return n
}

// Trouble returns the highest exit code of the points and the messages of failed ones.
func (r *Result) Trouble() (code int, lines []string) {
	for i := range r.Points {
		if p := &r.Points[i]; p.Code != 0 {
			code = max(code, p.Code)
			lines = append(lines, fmt.Sprintf("%s: %s, seed %d: %s", r.Experiment, p.Position, p.Seed, p.Message))
		}
	}
	return code, lines
}

// sample returns the mean over seeds with its interval.
func sample(values []float64) sweep.Sample {
	s, _ := sweep.SampleOf(values)
	return s
}
