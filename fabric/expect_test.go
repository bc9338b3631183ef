package fabric

import (
	"slices"
	"testing"
)

// Classes that flows use have metrics, also by size; other classes have none. This is known
// before the run, when there are no measured flows.
func TestMetricNamesOfClasses(t *testing.T) {
	const text = `
topology: {name: one-switch, hosts: 3}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1, 2], kind: lossless}}
output: {size_buckets: [10KB]}
workload:
  - {name: a, generator: flows, class: 2, flows: [{from: host0, to: host1, size: 1MB}]}
`
	for by, want := range map[string]bool{"class": true, "workload": false} {
		names := build(t, text, "output.group_by="+by).MetricNames()
		for _, name := range []string{"classes.class 2.fct_ps.mean", "classes.class 2.finished", "classes.class 2.sizes.over 10KB.fct_ps.p99"} {
			if slices.Contains(names, name) != want {
				t.Errorf("group_by %s: %s: want %v", by, name, want)
			}
		}
		if slices.Contains(names, "classes.class 1.fct_ps.mean") {
			t.Errorf("group_by %s: class 1 has metrics but no flow", by)
		}
	}
	build(t, text, "output.group_by=class", `expect=["classes.class 2.unfinished == 0"]`)
}
