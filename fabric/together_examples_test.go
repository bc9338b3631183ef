package fabric

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
)

// TestTogetherInExamples runs one example per kind of fabric; TestDeepTogetherInEveryExample
// runs all.
func TestTogetherInExamples(t *testing.T) {
	var names []string
	for _, name := range []string{"bifrost-testbed", "bifrostx-two-dc", "dsh-fig16", "hybrid", "incast", "l2bm-clos", "roundabout-torus"} {
		names = append(names, "../examples/"+name+".yaml")
	}
	together(t, names, 5)
}

// together checks that Reverie, DSH and Roundabout run together in examples whose ports all pause
// with PFC, and keep all invariants for 200 us. Flows must deliver data in a number of examples.
func together(t *testing.T, names []string, deliver int) {
	refused := map[string]string{ // a port has a policy of its own
		"bifrost-testbed": "cannot be set for a single port", "bifrost-testbed-b": "cannot be set for a single port", "bifrost-testbed-c": "cannot be set for a single port",
	}
	busy := 0
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".yaml")
		t.Run(base, func(t *testing.T) {
			c, err := ReadFile(name, "--policy reverie", "--flow-control dsh", "--deadlock roundabout")
			if part, ok := refused[base]; ok {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want an error with %q", err, part)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			end := 200 * units.Microsecond
			if base == "websearch" {
				end = 700 * units.Microsecond // its last flow starts at 600 us
			}
			if base == "rail-1024" {
				shrink := shortened[base] // a ring of 1,024 ranks takes too long with all checks
				shrink.apply(t, c)
			}
			c.Run.Arrivals, c.Run.Measure = min(c.Run.Arrivals, end), scenario.Measure{}
			c.Run.Stop = scenario.Stop{When: "time", AtMost: end}
			built, _ := runAll(t, c)
			for _, check := range built.Checks {
				if check.Broken > 0 {
					t.Error(check.First)
				}
			}
			for i := range built.Flows.Recv {
				if built.Flows.Recv[i].Next > 0 {
					busy++
					break
				}
			}
		})
	}
	if busy < deliver {
		t.Errorf("flows deliver data in %d examples, want %d", busy, deliver)
	}
}
