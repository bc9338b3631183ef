package reproduce

import (
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Factor is one of the choices of a factorial experiment, with its two levels. The schemes of the
// experiment are all combinations of levels, named after them, then the schemes of the file.
type Factor struct {
	Name   string    `yaml:"name"`
	Levels []Variant `yaml:"levels"` // the second is compared with the first
}

// maxFactors is the maximum number of factors: 16 combinations.
const maxFactors = 4

// combine turns the factors into schemes.
func (e *Experiment) combine(at *yaml.Locations) error {
	if len(e.Factors) == 0 {
		return nil
	}
	if len(e.Factors) > maxFactors {
		return at.Errorf("factors", "there are %d factors (expected at most %d)", len(e.Factors), maxFactors)
	}
	all := []Variant{{}}
	for _, f := range e.Factors {
		if f.Name == "" || len(f.Levels) != 2 || f.Levels[0].Name == f.Levels[1].Name {
			return at.Errorf("factors", "factor %q has %d levels (expected a name and two levels with different names)", f.Name, len(f.Levels))
		}
		var next []Variant
		for _, v := range all {
			for _, l := range f.Levels {
				name := l.Name
				if v.Name != "" {
					name = v.Name + ", " + l.Name
				}
				next = append(next, Variant{Name: name, Set: slices.Concat(v.Set, l.Set)})
			}
		}
		all = next
	}
	e.Schemes = append(all, e.Schemes...)
	return nil
}

// effect is a contrast of a factorial experiment: the factors whose levels it compares.
type effect []int

// effects returns the main effects and the interactions of two factors.
func (e *Experiment) effects() (list []effect) {
	for i := range e.Factors {
		list = append(list, effect{i})
	}
	for i := range e.Factors {
		for j := i + 1; j < len(e.Factors); j++ {
			list = append(list, effect{i, j})
		}
	}
	return list
}

// name names an effect by the second levels.
func (x effect) name(e *Experiment) string {
	var words []string
	for _, i := range x {
		words = append(words, e.Factors[i].Levels[1].Name)
	}
	if len(x) == 1 {
		return words[0] + " instead of " + e.Factors[x[0]].Levels[0].Name
	}
	return strings.Join(words, " x ")
}

// of returns the effect on a metric, seed by seed: the mean difference between the second and the
// first level. For two factors it is how much the second level of one adds to the effect of the
// other. It returns false if a run lacks the metric.
func (x effect) of(e *Experiment, r *Result, metric string) ([]float64, bool) {
	var sums []float64
	n := len(e.Factors)
	for cell := range 1 << n {
		values, all := r.series(e, Position{Scheme: e.Schemes[cell].Name}, metric, "")
		if !all || sums != nil && len(values) != len(sums) {
			return nil, false
		}
		if sums == nil {
			sums = make([]float64, len(values))
		}
		sign := 1.0
		for _, i := range x {
			if cell>>(n-1-i)&1 == 0 { // combine varies the last factor fastest
				sign = -sign
			}
		}
		for s, v := range values {
			sums[s] += sign * v
		}
	}
	for s := range sums {
		sums[s] /= float64(int(1) << (n - len(x)))
	}
	return sums, len(sums) > 0
}

// effectsTable returns the effects on all numbers per run; nil if there are no factors.
func (e *Experiment) effectsTable(r *Result) *report.Table {
	if len(e.Factors) == 0 {
		return nil
	}
	t := &report.Table{
		Caption: "Effects, as the mean difference over paired seeds with its 95 % interval. A x B: what B adds to the effect of A",
		Columns: []report.Column{{Name: "effect"}},
	}
	var metrics []*Metric
	for i := range e.Metrics {
		if m := &e.Metrics[i]; !m.Distribution() {
			metrics = append(metrics, m)
			t.Columns = append(t.Columns, report.Column{Name: withUnit(m.Title, m.unitInHead()), Align: report.Right})
		}
	}
	for _, x := range e.effects() {
		row := []string{x.name(e)}
		for _, m := range metrics {
			text := "-"
			if values, ok := x.of(e, r, m.Name); ok {
				s := sample(values)
				text = plusMinus(s.Mean, s.Half)
			}
			row = append(row, text)
		}
		t.Row(row...)
	}
	return t
}
