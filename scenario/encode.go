package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

// Marshal writes the scenario as YAML with every default filled in. Parse reads
// it back to the same run.
func (c *Config) Marshal() ([]byte, error) {
	resolved := *c
	resolved.Workload = append([]Workload(nil), c.Workload...)
	resolved.Probes = append([]Probe(nil), c.Probes...)
	resolved.Resolve()
	v, err := plainOf(reflect.ValueOf(resolved))
	if err != nil {
		return nil, err
	}
	return yaml.MarshalWithOptions(v, yaml.Indent(2), yaml.IndentSequence(true))
}

// plainOf turns a value into what the YAML library writes as one reads it.
func plainOf(v reflect.Value) (any, error) {
	switch t := v.Interface().(type) {
	case Choice:
		return t.plain(nil)
	case ECN:
		return t.Choice.plain(yaml.MapSlice{{Key: "classes", Value: list(t.Classes)}, {Key: "at", Value: t.At}})
	case Topology:
		return t.plain()
	case Workload:
		return t.plain()
	case Probe:
		return t.plain()
	case Override:
		out := yaml.MapSlice{{Key: "match", Value: t.Match}}
		return append(out, plainPatch(t.Keys).(yaml.MapSlice)...), nil
	case Variant:
		return plainPatch(t.Keys), nil
	case ClassChoice:
		return t.plain(), nil
	case encoding.TextMarshaler:
		text, err := t.MarshalText()
		return string(text), err
	case fmt.Stringer: // units
		return t.String(), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return structOf(v)
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			var err error
			if items[i], err = plainOf(v.Index(i)); err != nil {
				return nil, err
			}
		}
		return items, nil
	case reflect.Map:
		return mapOf(v)
	}
	return v.Interface(), nil
}

// list makes an empty list of a missing one.
func list(words []string) []string { return append([]string{}, words...) }

// structOf writes the fields of a struct. Those marked omitempty have no meaning
// when they are zero.
func structOf(v reflect.Value) (yaml.MapSlice, error) {
	out := yaml.MapSlice{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Anonymous || v.Field(i).IsZero() && strings.Contains(f.Tag.Get("yaml"), ",omitempty") {
			continue
		}
		item, err := plainOf(v.Field(i))
		if err != nil {
			return nil, err
		}
		out = append(out, yaml.MapItem{Key: keyOf(f), Value: item})
	}
	return out, nil
}

// mapOf writes a map in the order of its keys.
func mapOf(v reflect.Value) (yaml.MapSlice, error) {
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
	out := yaml.MapSlice{}
	for _, k := range keys {
		item, err := plainOf(v.MapIndex(k))
		if err != nil {
			return nil, err
		}
		out = append(out, yaml.MapItem{Key: fmt.Sprint(k.Interface()), Value: item})
	}
	return out, nil
}

// plain writes the name, what stands beside it, and the parameters.
func (c Choice) plain(beside yaml.MapSlice) (yaml.MapSlice, error) {
	out := append(yaml.MapSlice{{Key: "name", Value: c.Name}}, beside...)
	if c.Params == nil {
		return out, nil
	}
	params, err := structOf(reflect.ValueOf(c.Params).Elem())
	if err != nil {
		return nil, err
	}
	return append(out, params...), nil
}

// plain writes the generator and its parameters, then the exceptions.
func (t Topology) plain() (any, error) {
	out, err := t.Choice.plain(nil)
	if err != nil {
		return nil, err
	}
	beside, err := structOf(reflect.ValueOf(t))
	return append(out, beside...), err
}
