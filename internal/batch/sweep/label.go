package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// ShortKeys shortens keys to their unique last parts: cc for hosts.cc.name, policy.alpha
// if another alpha is varied.
func ShortKeys(keys []string) []string {
	var paths [][]string
	for _, k := range keys {
		paths = append(paths, strings.Split(strings.TrimSuffix(k, ".name"), "."))
	}
	short := make([]string, len(keys))
	for i, path := range paths {
		for n := 1; n <= len(path); n++ {
			end := path[len(path)-n:]
			short[i] = strings.Join(end, ".")
			if !slices.ContainsFunc(others(paths, i), func(other []string) bool { return len(other) >= n && slices.Equal(other[len(other)-n:], end) }) {
				break
			}
		}
	}
	return short
}

func others(list [][]string, but int) [][]string {
	return append(slices.Clone(list[:but]), list[but+1:]...)
}

// ShortValue writes a scheme as its flag does, dcqcn:g=0.1 for {name: dcqcn, g: 0.1}, and
// returns other values unchanged.
func ShortValue(value string) string {
	if !strings.HasPrefix(value, "{") {
		return value
	}
	var fields yaml.MapSlice
	if yaml.Unmarshal([]byte(value), &fields) != nil || len(fields) == 0 || fields[0].Key != "name" {
		return value
	}
	text := fmt.Sprint(fields[0].Value)
	for i, f := range fields[1:] {
		switch f.Value.(type) {
		case yaml.MapSlice, map[string]any, []any:
			return value
		}
		text += map[bool]string{true: ":", false: ","}[i == 0] + fmt.Sprintf("%v=%v", f.Key, f.Value)
	}
	return text
}

// label describes the keys and values of a variant: cc=dcqcn policy=dt.
func label(keys, values []string) string {
	var pairs []string
	for i, k := range ShortKeys(keys) {
		pairs = append(pairs, k+"="+ShortValue(values[i]))
	}
	return strings.Join(pairs, " ")
}

// maxLabels is the maximum number of keys in the label of a run outside a sweep.
const maxLabels = 4

// labelRuns labels variants outside a sweep by the keys that all variants have and in which
// they differ, unless there are more than maxLabels.
func (c *Comparison) labelRuns() {
	var keys []string
	for i := range c.Differ {
		if d := &c.Differ[i]; d.missing() == 0 {
			keys = append(keys, d.Key)
		}
	}
	if len(keys) > maxLabels {
		return
	}
	for i, v := range c.Variants {
		if len(v.Keys) > 0 {
			continue
		}
		var values []string
		for k := range c.Differ {
			if d := &c.Differ[k]; d.missing() == 0 {
				values = append(values, d.Values[i])
			}
		}
		v.Label, v.labelled = label(keys, values), keys
	}
}

// Unlabelled returns the keys in which the scenarios differ and which labels do not show.
// Parameters of schemes whose names differ are only counted.
func (c *Comparison) Unlabelled() (list []KeyDiff, parameters int) {
	names := make(map[string]bool)
	for _, d := range c.Differ {
		if scheme, ok := strings.CutSuffix(d.Key, ".name"); ok {
			names[scheme] = true
		}
	}
	for _, d := range c.Differ {
		labelled := !slices.ContainsFunc(c.Variants, func(v *Variant) bool { return !slices.Contains(v.labelled, d.Key) })
		switch {
		case labelled:
		case d.missing() > 0 && names[d.Key[:max(0, strings.LastIndexByte(d.Key, '.'))]]:
			parameters++
		default:
			list = append(list, d)
		}
	}
	return list, parameters
}
