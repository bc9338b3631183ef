package sweep

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scenario/build"
	"github.com/xoff-net/xoff/sim"
)

// Measure is a number of a summary. Its name is its path in summary.json, with
// the name of a workload or size bucket as a step: workloads.web.fct_ps.p99.
type Measure struct {
	Name  string
	Group string // the named thing of a list that it is a number of, a beginning of the name; "" for none
	Value float64
	Known bool // false when no flow finished
}

// Measures returns every number of a summary in the order of summary.json.
func Measures(s *metrics.Summary) []Measure {
	var list []Measure
	measure(reflect.ValueOf(s).Elem(), "", "", true, func(m Measure) {
		if m.Name != "schema" && m.Name != "seed" {
			list = append(list, m)
		}
	})
	return list
}

// measure walks a value; known is false below a pointer that is nil.
func measure(v reflect.Value, path, group string, known bool, add func(Measure)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v, known = reflect.New(v.Type().Elem()), false
		}
		measure(v.Elem(), path, group, known, add)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" {
				continue
			}
			if f.Anonymous && name == "" {
				measure(v.Field(i), path, group, known, add)
				continue
			}
			measure(v.Field(i), join(path, name), group, known, add)
		}
	case reflect.Slice:
		// Lists of named things; a list without names has no stable place.
		for i := range v.Len() {
			item := reflect.Indirect(v.Index(i))
			if item.Kind() != reflect.Struct {
				return
			}
			name := item.FieldByName("Name")
			if !name.IsValid() || name.Kind() != reflect.String {
				return
			}
			below := join(path, name.String())
			measure(item, below, below, known, add)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		add(Measure{path, group, float64(v.Int()), known})
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		add(Measure{path, group, float64(v.Uint()), known})
	case reflect.Float32, reflect.Float64:
		add(Measure{path, group, v.Float(), known})
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// DefaultMetrics are the columns of a sweep's table.
var DefaultMetrics = []string{
	"flows.finished", "flows.unfinished", "fct_ps.p50", "fct_ps.p99", "slowdown.p50", "slowdown.p99",
	"pauses.pauses", "drops.lossless", "buffer.peak_bytes",
}

// metricNames returns what the summary of a run will hold.
func metricNames(b *build.Built) []string {
	return namesOf(Measures(b.Outcome(0, sim.Totals{}, sim.Fabric{}, false).Summarize()))
}

func namesOf(list []Measure) []string {
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return names
}

// CheckNames finds the first name that is not a known metric.
func CheckNames(names, known []string) error {
	for _, n := range names {
		if !slices.Contains(known, n) {
			return unknownMetric(n, known)
		}
	}
	return nil
}

// fullNames turns names of metrics, as they are in summary.json or as tables print
// them, into those of summary.json.
func fullNames(names, known []string) ([]string, error) {
	titles := Titles(known)
	var list []string
	for _, n := range names {
		i := slices.Index(known, n)
		if i < 0 {
			i = slices.Index(titles, n)
		}
		if i < 0 {
			return nil, unknownMetric(n, titles)
		}
		list = append(list, known[i])
	}
	return list, nil
}

func unknownMetric(name string, known []string) error {
	var near []string
	for _, k := range known {
		if strings.Contains(k, name) || strings.HasSuffix(name, k[strings.LastIndexByte(k, '.')+1:]) {
			near = append(near, k)
		}
	}
	if len(near) == 0 {
		near = known
	}
	if len(near) > 12 {
		near = append(near[:12:12], "...")
	}
	return fmt.Errorf("unknown metric %q%s; allowed: the name of a number of summary.json, such as %s",
		name, registry.DidYouMean(name, known), strings.Join(near, ", "))
}

// Candidates lists the metrics that results of a scenario file, or those in a folder,
// will or do have, as tables print them. It is for completion: what cannot be read
// adds nothing, and groups by size are known of folders only.
func Candidates(paths []string) []string {
	lists := [][]string{namesOf(Measures(&metrics.Summary{}))}
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
		lists = append(lists, namesOf(Measures(s)))
	}
	return Titles(union(lists))
}

// goals says of which metrics less (-1) or more (+1) is better, by the first
// part of their names that is listed; of the others neither is.
var goals = []struct {
	prefix string
	goal   int
}{
	{"throughput.", 1}, {"operations.finished", 1}, {"operations.measured", 0}, {"operations.slowest.", 0}, {"operations.", -1}, {"flows.finished", 1}, {"flows.completed", 1}, {"flows.unfinished", -1}, {"fct_ps.", -1}, {"slowdown.", -1},
	{"pauses.", -1}, {"deadlock.onset_ps", 1}, {"deadlock.", -1}, {"pause_trees.", -1}, {"drops.", -1}, {"transport.", -1}, {"buffer.", -1}, {"invariants.", -1},
}

// goalOf returns -1 when less of a metric is better, 1 when more is, 0 otherwise.
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

// Format prints a value of a metric for people.
func Format(name string, v float64) string {
	switch {
	case strings.Contains(name, "_ps.") || strings.HasSuffix(name, "_ps"):
		return units.Human(v, "ps", "ns", "us", "ms", "s")
	case strings.HasSuffix(name, "_bytes"):
		return units.Human(v, "B", "KB", "MB", "GB", "TB")
	case strings.Contains(name, "_bps.") || strings.HasSuffix(name, "_bps"):
		return units.Human(v, "bps", "Kbps", "Mbps", "Gbps", "Tbps")
	case strings.Contains(name, "slowdown."):
		return fmt.Sprintf("%.2f", v)
	case v == float64(int64(v)) || v >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// Titles are the names of metrics for people.
func Titles(names []string) []string {
	var list []string
	for _, n := range names {
		list = append(list, Title(n))
	}
	return list
}

// Title names a metric for people: what its unit says is in the value. Commands take
// this name as well as that of summary.json.
func Title(name string) string {
	return strings.NewReplacer("_ps", "", "_bps", "").Replace(strings.TrimSuffix(name, "_bytes"))
}
