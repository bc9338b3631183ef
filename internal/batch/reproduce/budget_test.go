package reproduce

import (
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/scenario"
)

// The paper scale takes at most 30 CPU minutes per figure and 3 hours per paper. DSH, whose
// fabric is large, is exempt.
func TestBudgets(t *testing.T) {
	list, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(e *Experiment) bool {
		return e.Paper.Name == "dsh"
	})
	if over := overBudget(list); over != nil {
		t.Errorf("over budget: %s", strings.Join(over, "; "))
	}
}

// Three schemes, two values of x, three seeds: 18 runs. At 100 s each they take 1800 s, the
// budget of a figure. The seventh figure exceeds the budget of the paper.
func TestOverBudget(t *testing.T) {
	var list []*Experiment
	add := func(base string, seconds float64) {
		e := tiny()
		e.ID, e.base = "toy/"+base, base
		e.Scales.Paper = Scale{X: []string{"1", "2"}, Seeds: 3, Seconds: seconds}
		e.X.Set = []string{"a=$x"}
		for i := range e.Schemes {
			e.Schemes[i].Set = []string{"scheme=" + e.Schemes[i].Name}
		}
		list = append(list, e)
	}
	for _, base := range []string{"1", "2", "3", "4", "5", "6", "6"} { // the last two share their runs
		add(base, 100)
	}
	if over := overBudget(list); over != nil {
		t.Errorf("%q", over)
	}
	add("7", 101)
	if over := overBudget(list); !slices.Equal(over, []string{"toy/7: 30m18s", "toy: 3h30m18s"}) {
		t.Errorf("%q", over)
	}
	r := &Results{Experiment: list[0]}
	r.Experiment.Scales.Quick.Seeds = 5
	if got := r.notRun(); got != "Neither scale was run yet. The paper scale needs 18 runs, about 30m0s on one core." {
		t.Error(got)
	}
	r.Quick = &Result{}
	if got := r.notRun(); got != "The paper scale was not run: 18 runs, about 30m0s on one core." {
		t.Error(got)
	}
	r.Experiment = list[7]
	if got := r.notRun(); got != "The paper scale was not run: 18 runs, about 30m18s on one core, more than the limit of 30m0s per figure." {
		t.Error(got)
	}
	if r.Paper = r.Quick; r.notRun() != "" {
		t.Error(r.notRun())
	}
}

// Verdicts about flows need 2000 of them, verdicts about pauses 100 of the baseline.
// Scenarios that list their flows are exempt.
func TestBuiltCounts(t *testing.T) {
	list, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		least := func(word string, n int) bool {
			return slices.ContainsFunc(e.Counts, func(c Count) bool {
				return c.Least >= n && (strings.Contains(c.Summary, word) || c.Table == "flows" && word == "finished")
			})
		}
		if !e.Simulated() || e.listed(t) && least("finished", 1) {
			continue
		}
		for _, c := range e.Claims {
			m := e.metric(c.Metric)
			if c.Kind == kindSanity {
				continue
			}
			if (strings.Contains(m.Summary, "fct_ps") || m.Table == "flows") && !least("finished", 2000) {
				t.Errorf("%s: %s is about flows, but no count requires 2000 of them", e.ID, c.ID)
			}
			if strings.HasPrefix(m.Summary, "pauses.") && !least("pauses.pauses", 100) {
				t.Errorf("%s: %s is about pauses, but no count requires 100 of them", e.ID, c.ID)
			}
		}
	}
}

// listed reports whether the scenario lists all its flows instead of generating them.
func (e *Experiment) listed(t *testing.T) bool {
	t.Helper()
	cfg, err := e.config(Full, e.positions(Full)[0])
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(cfg.Workload, func(w scenario.Workload) bool { return w.Generator != "flows" })
}
