package run_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// Two jobs hurt each other only if their placement lets them share links. Each is compared
// with the same job in a run of its own, on the same GPUs.
func TestAlone(t *testing.T) {
	jobs := func(workloads string) []metrics.Job {
		t.Helper()
		c, err := scenario.Parse("alone.yaml", []byte(`
name: alone
topology: {name: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: 500ns}, fabric_link: {rate: 100Gbps, delay: 500ns}}
output: {alone: true}
run: {stop: {when: all_flows_done, at_most: 100ms}}
workload: [`+workloads+`]`))
		if err != nil {
			t.Fatal(err)
		}
		done, err := run.Scenario(context.Background(), c, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return done.Summary.Jobs
	}
	const work = "generator: collective, size: 400KB, repeat: 2, ranks: 4, placement: "
	one := "{name: one, " + work + "%s}"
	both := one + ", {name: two, start: 3us, " + work + "%s}"
	for _, c := range []struct {
		one, two string
		hurt     bool
	}{{"0-3", "4-7", false}, {"0 4 1 5", "2 6 3 7", true}, {"packed", "packed", false}} {
		got := jobs(fmt.Sprintf(both, c.one, c.two))
		lone := jobs(fmt.Sprintf(one, c.one))
		if lone[0].Alone != nil {
			t.Error("a single job was compared with itself")
		}
		for _, j := range got {
			a := j.Alone
			switch {
			case a == nil || len(a.Iterations) != 2:
				t.Fatalf("%s: %+v", j.Name, a)
			case c.hurt && a.Slowdown < 1.3, !c.hurt && a.Slowdown != 1:
				t.Errorf("%s at %s beside %s: slowdown %v", j.Name, c.one, c.two, a.Slowdown)
			case j.Name == "one" && !reflect.DeepEqual(a.Iterations, lone[0].Iterations):
				t.Errorf("alone %v, in a run of its own %v", a.Iterations, lone[0].Iterations)
			}
		}
	}
}
