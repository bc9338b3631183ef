package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
)

// Completions returns shell completions of the path of a setting, up to the next dot or to the
// equals sign. A tab separates each completion from its description. The paths are specific
// to this scenario: parameters of its schemes, workloads by index and by name.
func (c *Config) Completions(text string) []string {
	w := &pathWalker{}
	w.walk(reflect.ValueOf(c).Elem(), "", 0)
	var list []string
	for _, k := range w.keys {
		// Complete one level at a time.
		rest, ok := strings.CutPrefix(k.path, text)
		if !ok || rest == "" || strings.Contains(strings.TrimSuffix(rest, "."), ".") {
			continue
		}
		list = append(list, k.path+"\t"+k.doc)
	}
	return list
}

// pathWalker collects the paths of a scenario. A key with keys below it ends with a dot, a key
// that takes a value with an equals sign.
type pathWalker struct{ keys []pathKey }

type pathKey struct{ path, doc string }

// maxNesting bounds the recursion; scenarios are less deep.
const maxNesting = 8

// walk adds the paths below a value.
func (w *pathWalker) walk(v reflect.Value, path string, depth int) {
	if depth > maxNesting {
		return
	}
	if load, ok := v.Addr().Interface().(*Workload); ok {
		w.workload(load, v, path, depth)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if choice, ok := choiceIn(v); ok {
			w.leaf(yaml.Join(path, "name"), "one of "+strings.Join(schemeNames(kindAt(path)), ", "))
			if v.Type() != reflect.TypeFor[Choice]() {
				w.fields(v, path, depth, nil)
			}
			w.params(choice.Params, path, depth)
			return
		}
		w.fields(v, path, depth, nil)
	case reflect.Slice:
		for i := range v.Len() {
			w.inner(v.Index(i), fmt.Sprintf("%s[%d]", path, i), "item "+fmt.Sprint(i), depth)
		}
		named := false
		for i := range v.Len() {
			if name := v.Index(i).FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String && yaml.Name(name.String()) {
				if !named {
					named = true
					w.keys = append(w.keys, pathKey{path + ".", "items by their names"})
				}
				w.inner(v.Index(i), yaml.Join(path, name.String()), "item "+fmt.Sprint(i), depth)
			}
		}
	case reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(name))
			w.inner(item, yaml.Join(path, name.String()), "", depth)
		}
	}
}

// fields adds the keys of a struct; if only is not nil, just those keys.
func (w *pathWalker) fields(v reflect.Value, path string, depth int, only []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !isKey(f) || only != nil && !slices.Contains(only, yaml.KeyOf(f)) {
			continue
		}
		at, doc := yaml.Join(path, yaml.KeyOf(f)), f.Tag.Get("doc")
		switch words := yaml.Allowed(f); {
		case words != nil:
			w.leaf(at, "one of "+strings.Join(words, ", "))
		case hasKeys(f.Type):
			w.inner(v.Field(i), at, doc, depth)
		default:
			w.leaf(at, doc)
		}
	}
}

// workload adds the keys that a workload uses and the parameters of its generator.
func (w *pathWalker) workload(load *Workload, v reflect.Value, path string, depth int) {
	w.fields(v, path, depth, slices.DeleteFunc(load.UsedKeys(), func(key string) bool { return key == "generator" }))
	w.leaf(yaml.Join(path, "generator"), "one of "+strings.Join(schemeNames("generator"), ", "))
	w.params(load.Params, path, depth)
}

func (w *pathWalker) params(params any, path string, depth int) {
	if params != nil {
		w.fields(reflect.ValueOf(params).Elem(), path, depth, nil)
	}
}

// hasKeys reports whether values of a type have keys below them.
func hasKeys(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[Override](), reflect.TypeFor[Variant]():
		return false // their keys depend on the value that they change
	}
	switch t.Kind() {
	case reflect.Struct:
		return isStruct(t)
	case reflect.Slice:
		return hasKeys(t.Elem())
	case reflect.Map:
		return t.Key().Kind() == reflect.String && hasKeys(t.Elem())
	}
	return false
}

// inner adds a key and the keys below it. A list can also be set as a whole.
func (w *pathWalker) inner(v reflect.Value, path, doc string, depth int) {
	if v.Kind() == reflect.Slice {
		w.leaf(path, doc)
		w.walk(v, path, depth+1)
		return
	}
	w.keys = append(w.keys, pathKey{path + ".", doc})
	w.walk(v, path, depth+1)
}

func (w *pathWalker) leaf(path, doc string) { w.keys = append(w.keys, pathKey{path + "=", doc}) }
