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

// Built returns the experiments that are part of the program.
func Built() ([]*Experiment, error) { return Read(experiments.Files, "experiments") }

// paperFile is what all experiments of a folder share.
const paperFile = "paper.yaml"

// idLetters can be part of an ID.
const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/"

// Read reads every experiment of a tree PAPER/FIGURE.yaml, in order of papers,
// then of figures. Messages name files below a folder.
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
				return nil, fmt.Errorf("%s: files of results have the name of the experiment; allowed: letters, digits, - and _", e.file)
			}
			places, err := decode(files, figure, e.file, "experiment", &e.Spec)
			if err != nil {
				return nil, err
			}
			if err := e.inherit(places, list); err != nil {
				return nil, err
			}
			if err := e.readBase(places, files); err != nil {
				return nil, err
			}
			if err := e.check(places); err != nil {
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

func decode(files fs.FS, name, shown, what string, into any) (*yaml.Places, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	return yaml.Read(shown, data, what, into)
}

// inherit takes over what the experiment leaves to another one.
func (e *Experiment) inherit(at *yaml.Places, before []*Experiment) error {
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
		return at.Errorf("like", "there is no experiment before this one; allowed: without like")
	}
	return at.Errorf("like", "%w", registry.Unknown("experiment before this one", e.Like, names))
}

// only is the sweep without changes at values that are not there.
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

// readBase finds the scenario that points start from.
func (e *Experiment) readBase(at *yaml.Places, files fs.FS) error {
	switch {
	case e.Base == "":
	case strings.HasSuffix(e.Base, ".yaml"):
		data, err := fs.ReadFile(files, path.Join(e.Paper.Name, e.Base))
		if err != nil || path.Dir(e.Base) == "." {
			return at.Errorf("base", "there is no scenario %q; allowed: an example, or a file in a folder beside the experiments, such as scenarios/mine.yaml", e.Base)
		}
		// Files that the scenario names are found beside it.
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

// fill gives a value to what has none.
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

// Choose returns the experiments that ids name: dsh/5, or dsh for all of a paper.
// None means all.
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

// At leaves out experiments that are not run at a scale. One that is named by its id
// is missed, and so is the first one when none is left.
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
		return nil, fmt.Errorf("%s has no %s scale; allowed: --scale %s", missed.ID, scale, Full)
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

// xValues are the values of all scales.
func (e *Experiment) xValues() []string {
	values := slices.Clone(e.Scales.Paper.X)
	for _, v := range e.Scales.Quick.X {
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
