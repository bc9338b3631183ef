package reproduce

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Every function returns the measures that it declares, at every position of the
// experiments that use it.
func TestFunctions(t *testing.T) {
	list, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, e := range list {
		if e.Simulated() {
			continue
		}
		f := e.function()
		used[f.name] = true
		for _, at := range e.positions(Full) {
			numbers, err := f.at(&e.Compute, at)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := slices.Sorted(maps.Keys(numbers)), slices.Sorted(slices.Values(f.measures)); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", e.ID, at, got, want)
			}
		}
	}
	for _, f := range functions {
		if !used[f.name] {
			t.Errorf("no experiment uses %s", f.name)
		}
	}
}

// Arguments of functions are case, scheme, x and declared values.
func TestComputed(t *testing.T) {
	before := functions
	defer func() { functions = before }()
	functions = append(slices.Clone(before), function{
		name: "line", measures: []string{"y"}, values: []string{"slope"},
		at: func(c *Compute, at Position) (map[string]float64, error) {
			x, _ := xNumber(at.X)
			return map[string]float64{"y": c.Values["slope"] * x}, nil
		},
	})
	const text = `title: Toy
figure: Fig. 1
compute: {function: line, values: {slope: 3}}
schemes: [{name: SONiC}]
scales: {quick: {x: ["1/2"]}, paper: {x: ["1/2", "4"]}}
metrics: [{name: y, summary: y, times: 10}]
claims: [{id: T-1, kind: sanity, text: a line, metric: y, scheme: SONiC, x: "4", operator: equal, paper: "120"}]
`
	list, err := Read(toy(text), "experiments")
	if err != nil {
		t.Fatal(err)
	}
	r, err := list[0].stored("", Full)
	if err != nil {
		t.Fatal(err)
	}
	// 10 x 3 x 4.
	if j := list[0].Judge(r)[0]; j.Verdict != Close || j.Ours != "120" {
		t.Errorf("%+v", j)
	}
	for _, c := range []struct{ old, new, want string }{
		{"function: line", "function: lime", `experiments/toy/1.yaml:3:21: compute.function: unknown function "lime"`},
		{"slope: 3", "slop: 3", `compute.values.slop: unknown value "slop"`},
		{"function: line", "function: chips", `compute.values: chips takes no values; fix: remove compute.values`},
		{"function: line, values: {slope: 3}", "function: chips", `experiments/toy/1.yaml:5:18: scales.quick.x: `},
		{"summary: y", "summary: z", `metrics[0].summary: unknown number "z"`},
	} {
		_, err := Read(toy(strings.Replace(text, c.old, c.new, 1)), "experiments")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got\n%v\nwant\n%s", c.new, err, c.want)
		}
	}
}
