package explain_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/analysis/explain"
)

// TestExamples has one example per flow control and kind of topology; TestDeepExamples has all.
func TestExamples(t *testing.T) {
	explained(t, []string{"bifrostx-two-dc.yaml", "dsh-fig16.yaml", "fanin.yaml", "hybrid.yaml", "l2bm-requests.yaml", "roundabout-torus.yaml", "websearch.yaml"})
}

// explained checks that runs of examples, and of one with every deadlock handler, can be
// explained, and that the parts of flows add up.
func explained(t *testing.T, files []string) {
	late := map[string]bool{"dsh-fig14.yaml": true, "long-haul.yaml": true, "websearch.yaml": true} // their flows start late
	type run struct {
		file string
		set  []string
	}
	var runs []run
	for _, f := range files {
		runs = append(runs, run{filepath.Base(f), nil})
	}
	for _, h := range []string{"watchdog", "itsy", "loop-breaker", "deadlock-breaker", "roundabout"} {
		runs = append(runs, run{"deadlock.yaml", []string{"switch.deadlock={name: " + h + "}", "switch.pfc.hold=timed", "switch.pfc.coalesce=false"}})
	}
	for _, c := range runs {
		t.Run(c.file+strings.Join(c.set, " "), func(t *testing.T) {
			span := "50us"
			if late[c.file] {
				span = "1ms"
			}
			r, done := recorded(t, example(t, c.file), append(c.set, "run.arrivals="+span, "run.measure={}", "run.stop={when: time, at_most: "+span+"}", "expect=[]")...)
			if _, err := r.Explain(explain.Options{At: -1}); err != nil {
				t.Error(err)
			}
			flows := done.Fabric.Flows
			for id := range flows.Flow {
				start, began := flows.Began(id)
				if !began || start >= done.Outcome.End || id%7 != 0 && len(flows.Flow) > 500 {
					continue
				}
				steps, err := r.Steps(id)
				if err != nil {
					t.Fatal(err)
				}
				at, end := start, done.Outcome.End
				if flows.Done(id) {
					end = flows.Send[id].Acked
				}
				for _, s := range steps {
					if s.From != at {
						t.Fatalf("flow %d: a step starts at %d, want %d", id, s.From, at)
					}
					at = s.To
				}
				if at != end {
					t.Fatalf("flow %d: parts end at %d, the flow ends at %d", id, at, end)
				}
			}
		})
	}
}
