package reproduce

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/experiments"
	"github.com/xoff-net/xoff/internal/yaml"
)

// BuiltIn returns the experiments that are built into xoff.
func BuiltIn() ([]*Experiment, error) { return Read(experiments.Files, "experiments") }

// paperFile is the name of the file that describes the paper of a folder.
const paperFile = "paper.yaml"

// idLetters are the characters of IDs.
const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/"

// Read reads all experiments of a tree PAPER/FIGURE.yaml, ordered by paper and figure.
// Messages prefix file names with below.
func Read(files fs.FS, below string) ([]*Experiment, error) {
	names, err := fs.Glob(files, "*/"+paperFile)
	if err != nil {
		return nil, err
	}
	var list []*Experiment
	for _, name := range names {
		folder := path.Dir(name)
		p := &Paper{Name: folder}
		paper, err := decode(files, name, path.Join(below, name), "paper", &p.PaperSpec)
		if err != nil {
			return nil, err
		}
		first := len(list)
		figures, err := fs.Glob(files, folder+"/*.yaml")
		if err != nil {
			return nil, err
		}
		figures = slices.DeleteFunc(figures, func(s string) bool { return path.Base(s) == paperFile })
		slices.SortFunc(figures, byNumber)
		for _, figure := range figures {
			e := &Experiment{ID: strings.TrimSuffix(figure, ".yaml"), Paper: p, file: path.Join(below, figure)}
			if strings.Trim(e.ID, idLetters) != "" {
				return nil, fmt.Errorf("invalid experiment file name: %s (expected letters, digits, - and _)", e.file)
			}
			locations, err := decode(files, figure, e.file, "experiment", &e.Spec)
			if err != nil {
				return nil, err
			}
			if err := e.inherit(locations, list); err != nil {
				return nil, err
			}
			if err := e.readBase(locations, files); err != nil {
				return nil, err
			}
			if err := e.combine(locations); err != nil {
				return nil, err
			}
			if err := e.check(locations); err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		if err := p.check(paper, list[first:]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func decode(files fs.FS, name, shown, what string, into any) (*yaml.Locations, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	return yaml.Read(shown, data, what, into)
}

// inherit copies unset fields from the experiment that Like names.
func (e *Experiment) inherit(at *yaml.Locations, before []*Experiment) error {
	if e.Like == "" {
		return nil
	}
	var names []string
	for _, other := range before {
		names = append(names, other.ID)
		if other.ID != e.Like {
			continue
		}
		fill(&e.Base, other.Base)
		fill(&e.Compute, other.Compute)
		fill(&e.Scales, other.Scales)
		if reflect.ValueOf(e.X).IsZero() {
			e.X = other.X.only(e.xValues())
		}
		fill(&e.Cases, other.Cases)
		fill(&e.Schemes, other.Schemes)
		fill(&e.Counts, other.Counts)
		e.Set = slices.Concat(other.Set, e.Set)
		return nil
	}
	if names == nil {
		return at.Errorf("like", "there is no earlier experiment to inherit from; fix: remove like")
	}
	return at.Errorf("like", "%w", registry.Unknown("experiment before this one", e.Like, names))
}

// only returns the sweep without changes at other values.
func (x Sweep) only(values []string) Sweep {
	also := make(map[string][]string)
	for v, set := range x.Also {
		if slices.Contains(values, v) {
			also[v] = set
		}
	}
	x.Also = also
	return x
}

// readBase reads the base scenario.
func (e *Experiment) readBase(at *yaml.Locations, files fs.FS) error {
	switch {
	case e.Base == "":
	case strings.HasSuffix(e.Base, ".yaml"):
		data, err := fs.ReadFile(files, path.Join(e.Paper.Name, e.Base))
		if err != nil || path.Dir(e.Base) == "." {
			return at.Errorf("base", "there is no scenario %q (expected an example, or a file in a subfolder of the paper, such as scenarios/mine.yaml)", e.Base)
		}
		// Files that the scenario names are relative to it.
		e.base, e.scenario = path.Join(path.Dir(e.file), e.Base), string(data)
	default:
		x, err := examples.Get(e.Base)
		if err != nil {
			return at.Errorf("base", "%w", err)
		}
		e.base, e.scenario = e.Base, x.Text
	}
	return nil
}

// fill sets *v to from if it is zero.
func fill[T any](v *T, from T) {
	if reflect.ValueOf(*v).IsZero() {
		*v = from
	}
}

// byNumber sorts dsh/5 and dsh/5-more before dsh/10, and words after numbers.
func byNumber(a, b string) int {
	number := func(s string) int {
		digits, _, _ := strings.Cut(strings.TrimSuffix(path.Base(s), ".yaml"), "-")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return 1 << 30
		}
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Choose returns the experiments with the given IDs: dsh/5, or dsh for all of a paper.
// Without IDs it returns all.
func Choose(all []*Experiment, ids []string) ([]*Experiment, error) {
	if len(ids) == 0 {
		return all, nil
	}
	var names []string
	for _, e := range all {
		if !slices.Contains(names, e.Paper.Name) {
			names = append(names, e.Paper.Name)
		}
		names = append(names, e.ID)
	}
	var chosen []*Experiment
	for _, id := range ids {
		if !slices.Contains(names, id) {
			return nil, registry.Unknown("experiment", id, names)
		}
	}
	for _, e := range all {
		if slices.Contains(ids, e.ID) || slices.Contains(ids, e.Paper.Name) {
			chosen = append(chosen, e)
		}
	}
	return chosen, nil
}

// At returns the experiments that have a scale. It returns an error if an experiment named
// by its ID does not have it, or none has.
func At(list []*Experiment, ids []string, scale string) ([]*Experiment, error) {
	var kept []*Experiment
	var missed *Experiment
	for _, e := range list {
		switch {
		case e.Has(scale):
			kept = append(kept, e)
		case missed == nil || slices.Contains(ids, e.ID):
			missed = e
		}
	}
	if missed != nil && (len(kept) == 0 || slices.Contains(ids, missed.ID)) {
		return nil, fmt.Errorf("%s has no %s scale; fix: use --scale %s", missed.ID, scale, Full)
	}
	return kept, nil
}

func namesOf(list []Variant) []string {
	var names []string
	for _, v := range list {
		names = append(names, v.Name)
	}
	return names
}

func (e *Experiment) caseNames() []string   { return namesOf(e.Cases) }
func (e *Experiment) schemeNames() []string { return namesOf(e.Schemes) }

func (e *Experiment) metricNames() []string {
	var names []string
	for _, m := range e.Metrics {
		names = append(names, m.Name)
	}
	return names
}

func (e *Experiment) countNames() []string {
	var names []string
	for _, c := range e.Counts {
		names = append(names, c.Name)
	}
	return names
}

// xValues returns the values of x of all scales.
func (e *Experiment) xValues() []string {
	values := slices.Clone(e.Scales.Paper.X)
	for _, v := range e.Scales.Quick.X {
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
