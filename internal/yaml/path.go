package yaml

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
)

// Step is one step of a path: a key, or the index of a list item.
type Step struct {
	Key   string
	Index int // -1: a key
}

// Join appends a key to a path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Steps returns a path of keys.
func Steps(keys ...string) []Step {
	var list []Step
	for _, k := range keys {
		list = append(list, Step{k, -1})
	}
	return list
}

// SplitPath splits a path such as `workload[0].load.share`.
func SplitPath(path string) ([]Step, bool) {
	var steps []Step
	for _, part := range strings.Split(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name == "" {
			return nil, false
		}
		steps = append(steps, Step{Key: name, Index: -1})
		for indexed {
			var number string
			number, rest, indexed = strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if !indexed || err != nil || i < 0 {
				return nil, false
			}
			steps = append(steps, Step{Index: i})
			if rest == "" {
				break
			}
			if rest[0] != '[' {
				return nil, false
			}
			rest = rest[1:]
		}
	}
	return steps, true
}

// PathOf formats a path.
func PathOf(steps []Step) string {
	path := ""
	for _, s := range steps {
		if s.Index >= 0 {
			path += fmt.Sprintf("[%d]", s.Index)
		} else {
			path = Join(path, s.Key)
		}
	}
	return path
}

// PartOf follows a path through structs and lists.
func PartOf(v reflect.Value, steps []Step) (reflect.Value, bool) {
	for _, s := range steps {
		switch {
		case s.Index >= 0 && v.Kind() == reflect.Slice && s.Index < v.Len():
			v = v.Index(s.Index)
			continue
		case s.Index < 0 && v.Kind() == reflect.Struct:
			if i, ok := keysOf(v.Type())[s.Key]; ok {
				v = v.Field(i)
				continue
			}
		}
		return reflect.Value{}, false
	}
	return v, true
}

// Numbered replaces the names of list items in a path by their indexes.
func Numbered(v reflect.Value, path []Step) []Step {
	list := append([]Step(nil), path...)
	for i := range list {
		if k := itemNamed(v, list[i].Key); k >= 0 && list[i].Index < 0 {
			list[i] = Step{Index: k}
		}
		var ok bool
		if v, ok = PartOf(v, list[i:i+1]); !ok {
			break
		}
	}
	return list
}

// itemNamed returns the index of the list item with a name, or -1.
func itemNamed(v reflect.Value, name string) int {
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		return -1
	}
	for i := range v.Len() {
		if f := v.Index(i).FieldByName("Name"); f.IsValid() && f.Kind() == reflect.String && f.String() == name {
			return i
		}
	}
	return -1
}

// Assign decodes a node into the part of v that steps lead to. Path is the path of v.
func (d *Decoder) Assign(v reflect.Value, path string, steps []Step, n *Node) error {
	here := Location{Source: n.At.Source}
	if len(steps) == 0 {
		d.Locations.values[path] = here
		return d.Value(n, path, v)
	}
	s := steps[0]
	if s.Index >= 0 {
		if v.Kind() != reflect.Slice || s.Index >= v.Len() {
			return d.Fail(here, path, "there is no item %d (expected the index of a list item, from 0)", s.Index)
		}
		return d.Assign(v.Index(s.Index), fmt.Sprintf("%s[%d]", path, s.Index), steps[1:], n)
	}
	e := Entry{Key: s.Key, At: here, Value: n}
	keyed, ok := d.keyed(v)
	switch {
	case ok:
		if v, known := keyed.Part(s.Key); known && len(steps) > 1 {
			return d.Assign(v, Join(path, s.Key), steps[1:], n)
		}
		if e.Value, ok = nest(steps[1:], n); !ok {
			return d.Fail(here, path, "items of lists below %s cannot be set (expected keys joined by dots); fix: set the whole list", s.Key)
		}
		return keyed.DecodeKeys(d, []Entry{e}, path)
	case v.Kind() == reflect.Slice:
		if k := itemNamed(v, s.Key); k >= 0 {
			return d.Assign(v.Index(k), fmt.Sprintf("%s[%d]", path, k), steps[1:], n)
		}
		return d.noItem(here, v, path, s.Key)
	case v.Kind() == reflect.Struct && !isText(v):
		i, known := keysOf(v.Type())[s.Key]
		if !known {
			return d.unknown(e, path, KeyNames(v.Type()))
		}
		if at := Join(path, s.Key); len(steps) == 1 {
			d.Locations.values[at] = here
			return d.field(n, at, v.Type().Field(i), v.Field(i))
		}
		return d.Assign(v.Field(i), Join(path, s.Key), steps[1:], n)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		item := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(reflect.ValueOf(s.Key)); old.IsValid() {
			item.Set(old)
		}
		if err := d.Assign(item, Join(path, s.Key), steps[1:], n); err != nil {
			return err
		}
		d.Locations.values[path] = here
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(s.Key), item)
		return nil
	}
	return d.Fail(here, path, "has no keys, so %q cannot be set (expected one value)", s.Key)
}

func (d *Decoder) keyed(v reflect.Value) (Keyed, bool) {
	if d.Forms == nil {
		return nil, false
	}
	k, ok := d.Forms(v.Addr().Interface()).(Keyed)
	return k, ok
}

// isText reports whether a value is written as one word.
func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// noItem returns an error for a list that has no item with a name.
func (d *Decoder) noItem(here Location, v reflect.Value, path, name string) error {
	var names []string
	for i := range v.Len() {
		if item := v.Index(i); item.Kind() == reflect.Struct {
			if f := item.FieldByName("Name"); f.IsValid() && f.Kind() == reflect.String {
				names = append(names, f.String())
			}
		}
	}
	if names == nil {
		return d.Fail(here, path, "there is no item called %q (expected an index, as in %s[0])", name, path)
	}
	return d.Fail(here, path, "%w", registry.Unknown("item", name, append(names, path+"[0]")))
}

// nest puts a node below keys: steps b and c return {b: {c: node}}. It fails on indexes.
func nest(steps []Step, n *Node) (*Node, bool) {
	here := Location{Source: n.At.Source}
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Index >= 0 {
			return nil, false
		}
		n = &Node{Shape: Mapping, Keys: []Entry{{Key: steps[i].Key, At: here, Value: n}}, At: here}
	}
	return n, true
}
