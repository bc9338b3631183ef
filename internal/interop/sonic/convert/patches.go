package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// operation is an operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patches returns, for every switch whose configuration differs, the JSON patch (RFC 6902) that
// turns the old one into the new one. Both lists have the same switches.
func Patches(old, changed []File) ([]File, error) {
	var list []File
	for i := range old {
		var from, to map[string]map[string]map[string]string
		for _, side := range []struct {
			text []byte
			into any
		}{{old[i].Text, &from}, {changed[i].Text, &to}} {
			if err := json.Unmarshal(side.text, side.into); err != nil {
				return nil, fmt.Errorf("%s: %w", old[i].Switch, err)
			}
		}
		ops := differ("", from, to, func(path string, a, b map[string]map[string]string) []operation {
			return differ(path, a, b, func(path string, a, b map[string]string) []operation {
				return differ(path, a, b, func(path, a, b string) []operation {
					return []operation{{"replace", path, b}}
				})
			})
		})
		if len(ops) == 0 {
			continue
		}
		// An entry exists before others refer to it, and until none does.
		order := []string{"add", "replace", "remove"}
		slices.SortStableFunc(ops, func(a, b operation) int { return slices.Index(order, a.Op) - slices.Index(order, b.Op) })
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(ops); err != nil {
			return nil, err
		}
		list = append(list, File{old[i].Switch, text.Bytes()})
	}
	return list, nil
}

// differ returns the operations that turn one mapping into another; both is called for keys that
// both have with different values.
func differ[V any](path string, a, b map[string]V, both func(path string, a, b V) []operation) []operation {
	keys := maps.Clone(a)
	if keys == nil {
		keys = make(map[string]V)
	}
	maps.Copy(keys, b)
	var list []operation
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		was, old := a[k]
		is, still := b[k]
		switch {
		case !still:
			list = append(list, operation{Op: "remove", Path: at})
		case !old:
			list = append(list, operation{"add", at, is})
		case fmt.Sprint(was) != fmt.Sprint(is):
			list = append(list, both(at, was, is)...)
		}
	}
	return list
}
