package reproduce

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// The experiments built into xoff are complete, and each point of the quick scale is a valid
// scenario. TestDeepBuilt checks the paper scale.
func TestBuilt(t *testing.T) {
	all, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	ids := ""
	for _, e := range all {
		ids += e.ID + " "
		if e.About == "" || len(e.Claims) == 0 {
			t.Errorf("%s has no about or no claims", e.ID)
		}
		if reading := strings.Contains(e.ID, "-"); !reading && !e.Has(Quick) {
			t.Errorf("%s is a figure without a quick scale", e.ID)
		}
	}
	at := 0
	for _, want := range []string{"bifrost/2 bifrost/4 bifrost/7 bifrost/13 ", "dsh/4 dsh/5 dsh/5-fanin dsh/6 dsh/7 dsh/8 dsh/9 dsh/10 ",
		"l2bm/3 l2bm/3-alone l2bm/7 ", "reverie/4 reverie/5 reverie/7 ", "roundabout/10 roundabout/11 "} {
		i := strings.Index(ids, want)
		if i < at {
			t.Errorf("%sis missing or out of order: %s", want, ids)
		}
		at = i
	}
	validScale(t, all, Quick, 5)
}

// validScale plans every point of a scale, with a minimum number of seeds.
func validScale(t *testing.T, all []*Experiment, scale string, seeds int) {
	t.Helper()
	list, err := At(all, nil, scale)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if n := e.Scale(scale).Seeds; e.Simulated() && n < seeds {
			t.Errorf("%s has %d seeds at scale %s, want %d or more", e.ID, n, scale, seeds)
		}
		e.Scale(scale).Seeds = min(1, e.Scale(scale).Seeds) // scenarios of a position differ only in the seed
	}
	if _, err := NewPlan(list, scale); err != nil {
		t.Error(err)
	}
}

// One point of every experiment can be built and has its metrics and counts.
// TestDeepBuiltScenarios builds all points of both scales.
func TestBuiltScenarios(t *testing.T) { testBuilt(t, Quick, false) }

// testBuilt builds points of a scale, with short arrivals to save time: all of them, or one of
// each experiment.
func testBuilt(t *testing.T, scale string, whole bool) {
	t.Helper()
	built, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	all, err := At(built, nil, scale)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		s := e.Scale(scale)
		s.Seeds = min(1, s.Seeds)
		s.Also = nil
		if !whole {
			s.X, e.Cases, e.Schemes = s.X[:min(1, len(s.X))], e.Cases[:min(1, len(e.Cases))], e.Schemes[:min(1, len(e.Schemes))]
		}
		switch {
		case !e.Simulated():
		case e.ID == "dsh/16": // bursts are rare
			s.Set = slices.Concat(s.Set, []string{"run.arrivals=10ms"})
		case !strings.Contains(strings.Join(e.Set, " "), "run.arrivals="):
			s.Set = slices.Concat(s.Set, []string{"run.arrivals=60us", "run.measure={from: 10us, to: 60us}"})
		case e.Paper.Name == "bifrost" && !e.listed(t): // flows start at 6 ms; cases set their own arrivals
			s.Set, s.Also = slices.Concat(s.Set, []string{"run.arrivals=8ms"}), make(map[string][]string)
			for _, c := range e.caseNames() {
				s.Also[c] = []string{"run.arrivals=8ms"}
			}
		}
	}
	plan, err := NewPlan(all, scale)
	if err != nil {
		t.Fatal(err)
	}
	r := &sweep.Runner{Workers: 2, Build: func(p fabric.Plan) (*fabric.Fabric, error) {
		return p.Build(fabric.Options{})
	}}
	if err := plan.Prepare(t.Context(), r, ""); err != nil {
		t.Fatal(err)
	}
	if !whole {
		return
	}
	// Fig. 17, 18 and 19 share their runs, and so do the runs of DSH in Fig. 21.
	wanted, positions := 0, make(map[string]int)
	for i, e := range all {
		wanted += len(plan.wanted[i])
		positions[e.ID] = len(plan.wanted[i])
	}
	if shared := wanted - len(plan.Points); shared < 2*positions["dsh/17"]+positions["dsh/21"]/2 {
		t.Errorf("scale %s: %d of %d points are shared", scale, shared, wanted)
	}
}

// The quick scale keeps the model: only hosts, time and points are reduced.
func TestQuickKeepsTheModel(t *testing.T) {
	all, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if !e.Simulated() {
			continue
		}
		at := e.positions(Quick)[0]
		quick, err := e.config(Quick, at)
		if err != nil {
			t.Fatal(err)
		}
		paper, err := e.config(Full, at)
		if err != nil {
			t.Fatal(err)
		}
		a, err := quick.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		b, err := paper.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		share := float64(quick.Run.Arrivals) / float64(paper.Run.Arrivals)
		for _, part := range []string{"\nswitch:", "\nhosts:", "\nclasses:", "\nworkload:"} {
			if got, want := section(string(a), part), section(string(b), part); got != want && got != fewer(want, share) {
				t.Errorf("%s: %s differs between the scales", e.ID, strings.TrimSpace(part))
			}
		}
	}
}

// fewer scales the number of requests with the time in which they arrive: 376 in 500 ms
// become 105 in 140 ms.
func fewer(workload string, share float64) string {
	return regexp.MustCompile(`(?m)^( +count: )(\d+)$`).ReplaceAllStringFunc(workload, func(line string) string {
		key, text, _ := strings.Cut(line, ": ")
		n, _ := strconv.ParseFloat(text, 64) // the pattern allows only digits
		return fmt.Sprintf("%s: %.0f", key, n*share)
	})
}

// section returns a top-level key of a resolved scenario with everything below it.
func section(text, key string) string {
	_, rest, _ := strings.Cut(text, key)
	for i := 1; i < len(rest); i++ {
		if rest[i-1] == '\n' && rest[i] != ' ' && rest[i] != '-' {
			return rest[:i]
		}
	}
	return rest
}

const sound = `title: Toy
figure: Fig. 1
base: incast
schemes: [{name: SIH}, {name: DSH}]
x: {title: alpha, set: [switch.policy.alpha=$x]}
scales:
  quick: {x: [1/8], seeds: 2}
  paper: {x: [1/8, 1/4], seeds: 3}
metrics:
  - {name: fct, summary: fct_ps.mean}
  - {name: peaks, table: probe-headroom_peaks, value: bytes}
counts: [{name: flows, summary: flows.finished}, {name: unfinished, summary: flows.unfinished, of: flows}]
panels:
  - {kind: lines, metrics: [fct]}
claims:
  - {id: T-1, kind: headline, text: less, metric: fct, scheme: DSH, x: 1/8, baseline: {scheme: SIH}, operator: change, paper: "-10"}
deviations:
  - {claim: T-1, verdict: inconclusive, why: it is a toy}
`

func toy(text string) fstest.MapFS {
	return fstest.MapFS{
		"toy/paper.yaml": {Data: []byte("title: A toy\n")},
		"toy/1.yaml":     {Data: []byte(text)},
	}
}

// Every mistake is reported with its location and what is expected.
func TestMistakes(t *testing.T) {
	if _, err := Read(toy(sound), "experiments"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"title: Toy", "titel: Toy", `experiments/toy/1.yaml:1:1: experiment: unknown key "titel"`},
		{"seeds: 2", "seeds: two", `experiments/toy/1.yaml:7:28: scales.quick.seeds: `},
		{"seeds: 2", "seeds: 0", `experiments/toy/1.yaml:7:28: scales.quick.seeds: number of seeds is 0 (expected 1 to 1000)`},
		{"base: incast", "base: incats", `experiments/toy/1.yaml:3:7: base: unknown template "incats"`},
		{"base: incast", "base: mine.yaml", `experiments/toy/1.yaml:3:7: base: there is no scenario "mine.yaml" (expected an example, or a file in a subfolder of the paper`},
		{"base: incast\n", "", `experiments/toy/1.yaml:1:1: base: base and compute.function are both set or both missing (expected base with an example, or compute.function)`},
		{"base: incast", "like: toy/2\nbase: incast", `experiments/toy/1.yaml:3:7: like: there is no earlier experiment to inherit from`},
		{"{name: DSH}", "{name: SIH}", `experiments/toy/1.yaml:4:25: schemes[1]: "SIH" is used twice (expected each name once)`},
		{"x: [1/8], ", "", `experiments/toy/1.yaml:7:3: scales.quick: x is missing (expected the values of the axis)`},
		{"set: [switch.policy.alpha=$x]", "set: []", `experiments/toy/1.yaml:7:11: scales.quick.x: the values change nothing`},
		{"summary: fct_ps.mean", "title: FCT", `experiments/toy/1.yaml:10:6: metrics[0]: summary and table are both set or both missing (expected summary for a number, or table and value for a distribution)`},
		{"metrics: [fct]", "metrics: [fcts]", `experiments/toy/1.yaml:14:19: panels[0].metrics: unknown metric "fcts"`},
		{"metrics: [fct]", "metrics: [peaks]", `experiments/toy/1.yaml:14:6: panels[0].statistic: unknown statistic "" (allowed: mean, min, max, sum, count, `},
		{"paper: {x: [1/8, 1/4]", "paper: {x: [1/8, dt]", `experiments/toy/1.yaml:14:12: panels[0].kind: a panel of lines has x value "dt" (expected numbers); fix: use bars`},
		{"kind: lines", "kind: pie", `experiments/toy/1.yaml:14:12: panels[0].kind: unknown kind "pie"`},
		{"metric: fct, scheme: DSH", "metric: fct, scheme: ADH", `experiments/toy/1.yaml:16:64: claims[0].scheme: unknown scheme "ADH"`},
		{"operator: change", "operator: changes", `experiments/toy/1.yaml:16:112: claims[0].operator: unknown operator "changes"; did you mean "change"? (allowed: `},
		{"operator: change", "operator: value", `claims[0].baseline: baseline and operator value do not match (expected a baseline with change, ratio, lessens and about, and only there)`},
		{`paper: "-10"`, `paper: about ten`, `claims[0].paper: bad number: "about ten" (expected the number as printed in the paper)`},
		{"x: 1/8, base", "x: 1/16, base", `claims[0].x: unknown value "1/16"`},
		{"x: 1/8, base", "base", `claims[0].x: x is missing (allowed: 1/8, 1/4, most, least, mean, all)`},
		{"metric: fct, scheme", "metric: peaks, statistic: p200, scheme", `claims[0].statistic: unknown statistic "p200"`},
		{"claim: T-1, verdict: inconclusive", "claim: T-2, verdict: inconclusive", `deviations[0].claim: unknown claim "T-2"; did you mean "T-1"? (allowed: `},
		{"verdict: inconclusive", "verdict: inconclusive, cause: noise", `deviations[0].cause: unknown cause "noise" (allowed: set-up not stated, data, paper, ours)`},
		{"verdict: inconclusive", "verdict: reproduced", `deviations[0].verdict: unknown verdict "reproduced"`},
		{"seeds: 2", "seeds: 2, also: {1/9: [run.arrivals=1ms]}", `scales.quick.also: unknown value or case "1/9"`},
		{"summary: fct_ps.mean", "summary: fct_ps.mean, rows: {measured: 1}", `metrics[0]: table and value do not match (expected both, and over, along and rows only with a table)`},
		{"kind: lines, metrics: [fct]", "kind: trace, metrics: [peaks]", `panels[0].metrics: peaks is not stored over time (expected a metric with along)`},
		{"kind: lines, metrics: [fct]", "kind: cdf, metrics: [peaks], statistic: p50", `panels[0].statistic: a panel of kind cdf shows all values; fix: remove statistic`},
		{"x: 1/8, base", "x: all, base", `claims[0].x: change needs one number (expected one value, or most, least, mean of a change)`},
		{"x: 1/8, baseline: {scheme: SIH}, operator: change, paper: \"-10\"", "x: most, operator: zero", `claims[0].x: "most" selects among changes (expected one value, all, or most with order, nonzero, above or below)`},
		{"counts: [{name: flows,", "counts: [{name: fct,", `experiments/toy/1.yaml:12:17: counts[0].name: "fct" is also the name of a metric (expected each name once)`},
		{", operator: change", "", `experiments/toy/1.yaml:16:10: claims[0].id: metric or operator is missing (expected both)`},
		{`paper: "-10"`, "paper: nan", `claims[0].paper: bad number: "nan" (expected the number as printed`},
		{"base: incast", "like: toy/0", `experiments/toy/1.yaml:3:7: like: there is no earlier experiment to inherit from; fix: remove like`},
		{`x: 1/8, baseline: {scheme: SIH}, operator: change, paper: "-10"`, "operator: order, order: [1/8, 1/2]", `claims[0].order: unknown value "1/2"`},
		{`x: 1/8, baseline: {scheme: SIH}, operator: change, paper: "-10"`, "x: 1/8, operator: order, order: [1/8, 1/4]", `claims[0].order: bad order (expected at least two schemes in ascending order of the metric; or, with scheme and without x, at least two values of x)`},
		{`scheme: DSH, x: 1/8, baseline: {scheme: SIH}, operator: change, paper: "-10"`, "x: 1/8, operator: order, order: [DSH]", `claims[0].order: bad order (expected at least two schemes`},
		{"kind: headline, ", "", `experiments/toy/1.yaml:16:10: claims[0].id: kind is missing (allowed: headline, reading, sanity)`},
		{"kind: headline", "kind: main", `claims[0].kind: unknown kind "main"`},
		{", {name: unfinished, summary: flows.unfinished, of: flows}", "", `experiments/toy/1.yaml:12:1: counts: no count of unfinished flows for claim T-1 (expected a count such as`},
		{"of: flows", "of: flow", `counts[1].of: unknown count "flow"; did you mean "flows"? (allowed: `},
		{`operator: change, paper: "-10"`, "operator: about, breaks: DSH", `claims[0].within: about needs one bound (expected either paper or within, in percentage points above 0)`},
		{`operator: change, paper: "-10"`, "operator: about, within: 15", `claims[0].breaks: breaks is missing (expected a scheme that exceeds the bound: SIH, DSH)`},
		{`operator: change, paper: "-10"`, "operator: about, within: 15, breaks: XSH", `claims[0].breaks: unknown scheme "XSH"`},
		{`paper: "-10"`, `paper: "-10", within: 5`, `claims[0].within: within or breaks is set for operator change (expected only for about)`},
		{"value: bytes", "value: bytes, unfinished: end of run", `metrics[1].unfinished: unfinished is set for a metric other than completion times (expected table: flows and value: fct_ps or slowdown`},
		{"summary: fct_ps.mean", "table: flows, value: fct_ps, unfinished: never", `metrics[0].unfinished: unknown value "never"`},
		{"title: Toy", "title: [Toy", `experiments/toy/1.yaml:`},
	} {
		text := strings.Replace(sound, c.old, c.new, 1)
		if text == sound {
			t.Fatalf("%q is not in the text", c.old)
		}
		_, err := Read(toy(text), "experiments")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got\n%v\nwant\n%s", c.new, err, c.want)
		}
	}
	// An unknown key of the scenario is found when points are planned.
	list, err := Read(toy(strings.Replace(sound, "alpha=$x", "alfa=$x", 1)), "experiments")
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewPlan(list, Quick)
	if want := `experiments/toy/1.yaml: switch.policy.alfa=1/8: `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Headline claims belong to rows of the paper, and each row has claims or a reason for none.
func TestRows(t *testing.T) {
	const row = "rows: [{id: T, text: it gains, says: it does}]\n"
	named := strings.Replace(sound, "kind: headline,", "kind: headline, row: T,", 1)
	for _, c := range []struct{ paper, figure, want string }{
		{row, named, ""},
		{row, strings.Replace(sound, "kind: headline,", "kind: sanity, row: T,", 1), ""},
		{row, sound, `experiments/toy/1.yaml:16:10: claims[0].id: row is missing (allowed: T, the rows of paper.yaml)`},
		{row, strings.Replace(named, "row: T", "row: U", 1), `claims[0].row: unknown row "U"`},
		{row, strings.Replace(named, "headline", "reading", 1), `experiments/toy/paper.yaml:2:9: rows[0]: claims and open of row T do not match`},
		{"rows: [{id: T, text: it gains, open: no such switch}]\n", strings.Replace(sound, "headline", "reading", 1), ""},
		{"rows: [{id: T, text: it gains, open: no such switch}]\n", named, `rows[0]: claims and open of row T do not match`},
		{"rows: [{id: T, text: it gains}]\n", named, `rows[0]: incomplete row (expected text with the statement of the paper, and either says`},
		{"rows: [{id: T, text: a, says: b}, {id: T, text: a, says: b}]\n", named, `rows[1]: "T" is used twice`},
	} {
		files := toy(c.figure)
		files["toy/paper.yaml"].Data = []byte("title: A toy\n" + c.paper)
		if _, err := Read(files, "experiments"); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got\n%v\nwant\n%s", c.paper, err, c.want)
		}
	}
}

// A case and a scheme may have the same name.
func TestSettingsOfCasesAndSchemes(t *testing.T) {
	e := &Experiment{Spec: Spec{
		Cases:   []Variant{{Name: "a", Set: []string{"case=a"}}, {Name: "b", Set: []string{"case=b"}}},
		Schemes: []Variant{{Name: "b", Set: []string{"scheme=b"}}, {Name: "c", Set: []string{"scheme=c"}}},
	}}
	for at, want := range map[Position][]string{{Case: "a", Scheme: "b"}: {"case=a", "scheme=b"}, {Case: "b", Scheme: "c"}: {"case=b", "scheme=c"}, {Case: "b", Scheme: "b"}: {"case=b", "scheme=b"}} {
		if got := e.settings(Quick, at); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}

// The example experiment in the documentation is valid.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reproduce.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/reproduce.md has no YAML example")
	}
	list, err := Read(toy(example), "experiments")
	if err != nil || len(list[0].Claims) != 1 {
		t.Errorf("%v", err)
	}
}

func TestChoose(t *testing.T) {
	all, err := Read(toy(sound), "experiments")
	if err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{nil, {"toy"}, {"toy/1"}, {"toy/1", "toy"}} {
		if list, err := Choose(all, ids); err != nil || len(list) != 1 {
			t.Errorf("%v: %v, %v", ids, list, err)
		}
	}
	if _, err := Choose(all, []string{"toy/2"}); err == nil || !strings.Contains(err.Error(), `unknown experiment "toy/2"; did you mean "toy/1"? (allowed: `) {
		t.Error(err)
	}
}

// An experiment without the scale is skipped. It is an error if it is named by its ID or if
// no experiment is left.
func TestAt(t *testing.T) {
	quick, paper := tiny(), tiny()
	quick.ID, paper.ID = "toy/2", "toy/3"
	quick.Scales.Quick.Seeds, quick.Scales.Paper.Seeds, paper.Scales.Paper.Seeds = 1, 1, 1
	all := []*Experiment{quick, paper}
	for _, c := range []struct {
		list  []*Experiment
		ids   []string
		scale string
		want  int
	}{
		{all, []string{"toy"}, Quick, 1},
		{all, nil, Quick, 1},
		{all, []string{"toy/2", "toy/3"}, Full, 2},
		{all, []string{"toy/2", "toy/3"}, Quick, 0},
		{all[1:], []string{"toy"}, Quick, 0},
		{[]*Experiment{paper, paper}, nil, Quick, 0},
	} {
		got, err := At(c.list, c.ids, c.scale)
		if len(got) != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%v at %s: %d experiments, %v; want %d", c.ids, c.scale, len(got), err, c.want)
		}
	}
}
