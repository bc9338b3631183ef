package sweep

import (
	"strings"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
)

// DefaultMetrics are the default columns of a sweep's table.
var DefaultMetrics = []string{
	"flows.finished", "flows.unfinished", "fct_ps.p50", "fct_ps.p99", "slowdown.p50", "slowdown.p99",
	"operations.completion_ps.p99", "throughput.goodput_bps", "pauses.pauses", "drops.lossless", "buffer.peak_bytes",
}

// Candidates returns the titles of the metrics of result folders and scenario files, for
// shell completion. Unreadable paths are skipped. Size groups are known only for folders.
func Candidates(paths []string) []string {
	lists := [][]string{metrics.MeasureNames(metrics.Measures(&metrics.Summary{}))}
	for _, path := range paths {
		if variants, err := ReadVariants([]string{path}); err == nil {
			for _, v := range variants {
				lists = append(lists, v.names)
			}
			continue
		}
		cfg, err := scenario.ReadFile(path)
		if err != nil {
			continue
		}
		s := &metrics.Summary{}
		for i := range cfg.Workload {
			s.Workloads = append(s.Workloads, metrics.Part{Name: cfg.Workload[i].Name})
		}
		lists = append(lists, metrics.MeasureNames(metrics.Measures(s)))
	}
	return metrics.Titles(union(lists))
}

// goals lists prefixes of metrics for which lower (-1), higher (+1) or neither (0) is
// better. The first match counts.
var goals = []struct {
	prefix string
	goal   int
}{
	{"throughput.", 1}, {"operations.finished", 1}, {"operations.measured", 0}, {"operations.slowest.", 0}, {"operations.", -1},
	{"flows.finished", 1}, {"flows.completed", 1}, {"flows.unfinished", -1}, {"fct_ps.", -1}, {"slowdown.", -1},
	{"pauses.", -1}, {"deadlock.onset_ps", 1}, {"deadlock.", -1}, {"pause_trees.", -1}, {"drops.", -1}, {"transport.", -1},
	{"buffer.", -1}, {"invariants.", -1},
}

// goalOf returns -1 if lower values of a metric are better, 1 if higher ones are, else 0.
func goalOf(name string) int {
	for _, list := range []string{"workloads.", "sizes."} {
		if rest, ok := strings.CutPrefix(name, list); ok {
			if strings.Contains(rest, ".throughput.") {
				return 1
			}
			for _, part := range []string{".fct_ps.", ".slowdown.", ".operations.completion_ps."} {
				if strings.Contains(rest, part) {
					return -1
				}
			}
			switch {
			case strings.HasSuffix(rest, ".unfinished"):
				return -1
			case strings.HasSuffix(rest, ".finished"):
				return 1
			}
			return 0
		}
	}
	for _, g := range goals {
		if strings.HasPrefix(name, g.prefix) {
			return g.goal
		}
	}
	return 0
}
