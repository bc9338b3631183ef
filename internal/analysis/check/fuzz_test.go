package check

import (
	"context"
	"io"
	"testing"

	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/scenario"
)

// A check does not panic on any scenario that NewSurvey accepts. TestDeepCheckExamples covers
// the large examples.
func FuzzCheck(f *testing.F) {
	for _, e := range examples.All() {
		e, err := examples.Get(e.Name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Text)
	}
	f.Add(small + flowsOf + "switch: {flow_control: {name: none}}\n")
	f.Add(small + "routing: {name: static, pinned: [{from: leaf0, to: host3, via: [leaf0, spine0, leaf1]}]}\n")
	f.Add("name: a\ntopology: {name: one-switch, hosts: 2}\n")
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text, 40) })
}

// checkText checks a scenario, unless it is invalid or has more than the given hosts.
func checkText(t *testing.T, text string, hosts int) {
	t.Helper()
	c, err := scenario.Parse("a.yaml", []byte(text))
	if err != nil {
		return
	}
	s, err := NewSurvey(c)
	if err != nil || len(s.Switches) > 50 || s.Graph.Hosts > hosts {
		return
	}
	for _, flows := range []bool{false, len(s.Uses) > 0 && len(s.Pins) > 0} {
		r, err := Run(context.Background(), s, Options{Failures: 1, Flows: flows})
		if err != nil {
			return // the flows cannot be generated
		}
		if err := r.WriteDot(io.Discard); err != nil {
			t.Fatal(err)
		}
	}
}
