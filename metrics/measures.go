package metrics

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Measure is a number of a summary. Its name is its path in summary.json, in which workloads
// and size buckets appear by name: workloads.web.fct_ps.p99.
type Measure struct {
	Name  string
	Group string // prefix of the name for an element of a named list; "": none
	Value float64
	Known bool // false if no flow finished
}

// Measures returns every number of a summary in the order of summary.json.
func Measures(s *Summary) []Measure {
	var list []Measure
	measure(reflect.ValueOf(s).Elem(), "", "", true, func(m Measure) {
		if m.Name != "schema" && m.Name != "seed" {
			list = append(list, m)
		}
	})
	return list
}

// measure visits the numbers in v; known is false below a nil pointer.
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
			if p := v.Field(i); group != "" && p.Kind() == reflect.Pointer && p.IsNil() && strings.HasSuffix(f.Tag.Get("json"), ",omitempty") {
				continue // this element has no such numbers
			}
			measure(v.Field(i), strings.TrimPrefix(path+"."+name, "."), group, known, add)
		}
	case reflect.Slice:
		// Elements of a list are identified by name; lists without names are skipped.
		for i := range v.Len() {
			item := reflect.Indirect(v.Index(i))
			if item.Kind() != reflect.Struct {
				return
			}
			name := item.FieldByName("Name")
			if !name.IsValid() || name.Kind() != reflect.String {
				return
			}
			below := path + "." + name.String()
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

// MeasureNames returns the names of measures.
func MeasureNames(list []Measure) []string {
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return names
}

// CheckNames returns an error for the first name that is not a known metric.
func CheckNames(names, known []string) error {
	for _, n := range names {
		if !slices.Contains(known, n) {
			return unknownMetric(n, known)
		}
	}
	return nil
}

// FullNames returns the names in summary.json for metrics named as there or as in printed
// tables.
func FullNames(names, known []string) ([]string, error) {
	titles := Titles(known)
	swapped := make([]string, len(titles))
	for i, t := range titles {
		swapped[i] = maxLast(t)
	}
	var list []string
	for _, n := range names {
		n = strings.ReplaceAll(n, "p99.9", "p99_9") // as in column headers
		i := slices.Index(known, n)
		if i < 0 {
			i = slices.Index(titles, n)
		}
		if i < 0 {
			i = slices.Index(swapped, n)
		}
		if i < 0 {
			return nil, unknownMetric(n, titles)
		}
		list = append(list, known[i])
	}
	return list, nil
}

// maxLast turns a.max_b into a.b.max, like the maxima of distributions.
func maxLast(name string) string {
	at := strings.LastIndexByte(name, '.') + 1
	if rest, ok := strings.CutPrefix(name[at:], "max_"); ok {
		return name[:at] + rest + ".max"
	}
	return name
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
	return fmt.Errorf("unknown metric %q%s (expected the name of a number of summary.json, such as %s)",
		name, registry.DidYouMean(name, known), strings.Join(near, ", "))
}

// Format formats a value of a metric for humans.
func Format(name string, v float64) string {
	switch {
	case isTime(name):
		return units.Human(v, "ps", "ns", "us", "ms", "s")
	case strings.HasSuffix(name, "_bytes"):
		return units.Human(v, "B", "KB", "MB", "GB", "TB")
	case isRate(name):
		return units.Human(v, "bps", "Kbps", "Mbps", "Gbps", "Tbps")
	case strings.Contains(name, "slowdown."):
		return fmt.Sprintf("%.2f", v)
	case v == float64(int64(v)) || v >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// Titles returns the printed names of metrics.
func Titles(names []string) []string {
	var list []string
	for _, n := range names {
		list = append(list, Title(n))
	}
	return list
}

// Title returns the printed name of a metric: without the unit, which is in the value.
// Commands accept this name as well as the one in summary.json.
func Title(name string) string {
	return strings.NewReplacer("_ps", "", "_bps", "").Replace(strings.TrimSuffix(name, "_bytes"))
}
