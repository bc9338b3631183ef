package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scheme/sched"
)

// Schema returns the JSON schema of scenarios, for editors. It comes from the
// structs that scenarios are decoded into and from the registries. It knows less
// than Validate: what keys say about each other is not in it.
func Schema() *JSONSchema {
	w := schemaWriter{named: true}
	s := w.structOf(reflect.TypeFor[Config](), reflect.ValueOf(Default()).Elem())
	s.Version = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "xoff scenario"
	s.Description = "An experiment on a lossless fabric: xoff run FILE"
	return s
}

// schemaWriter writes schemas of types. Named says that a scheme other than the
// default must be called by its name; in an override the default is not known.
type schemaWriter struct{ named bool }

// of returns the schema of a type whose key has a name. The value holds the
// defaults; it is not valid where there are none.
func (w schemaWriter) of(t reflect.Type, key string, v reflect.Value) *JSONSchema {
	switch t {
	case reflect.TypeFor[units.Time]():
		return quantity0(units.TimePattern, "a time such as 10us")
	case reflect.TypeFor[units.Bytes]():
		return quantity0(units.BytesPattern, "a size such as 64KB or 16MiB")
	case reflect.TypeFor[units.Rate]():
		return quantity0(units.RatePattern, "a rate such as 100Gbps")
	case reflect.TypeFor[Choice]():
		return w.choice(key, v, nil)
	case reflect.TypeFor[ClassChoice]():
		shares := &JSONSchema{Type: "object", AdditionalProperties: &JSONSchema{Type: "number"}}
		return &JSONSchema{AnyOf: []*JSONSchema{
			{Type: "integer"}, {Type: "string"}, object(true, property{"random", &JSONSchema{Type: "string"}}),
			object(true, property{"shares", shares}),
		}}
	case reflect.TypeFor[Selection]():
		return &JSONSchema{AnyOf: []*JSONSchema{{Type: "string"}, {Type: "array", Items: &JSONSchema{Type: "string"}}}}
	case reflect.TypeFor[Workload]():
		return w.workload()
	case reflect.TypeFor[Expectation]():
		return &JSONSchema{AnyOf: []*JSONSchema{{Type: "string"}, object(true, w.properties(t, v)...)}}
	}
	if t == reflect.TypeFor[Scheduler]() {
		return w.scheduler(v)
	}
	if p, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		return textSchema(p)
	}
	switch t.Kind() {
	case reflect.Struct:
		if holdsChoice(t) {
			return w.choice(key, v, w.properties(t, v))
		}
		return w.structOf(t, v)
	case reflect.Slice:
		return &JSONSchema{Type: "array", Items: w.of(t.Elem(), strings.TrimSuffix(key, "s"), reflect.Value{})}
	case reflect.Map:
		s := &JSONSchema{Type: "object", AdditionalProperties: w.of(t.Elem(), key, reflect.Value{})}
		if t.Key().Kind() == reflect.Int {
			s.PropertyNames = &JSONSchema{Pattern: "^[0-9]+$"}
		}
		return s
	case reflect.String:
		// Words that look like numbers need no quotes.
		return &JSONSchema{AnyOf: []*JSONSchema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
	case reflect.Int:
		return &JSONSchema{Type: "integer"}
	case reflect.Uint64:
		return &JSONSchema{Type: "integer", Minimum: "0"}
	case reflect.Float64:
		return &JSONSchema{Type: "number"}
	case reflect.Bool:
		return &JSONSchema{Type: "boolean"}
	}
	panic(fmt.Sprintf("scenario: no schema for %s at %s", t, key))
}

// quantity0 is a quantity with a unit, or a zero without one.
func quantity0(pattern, what string) *JSONSchema {
	return &JSONSchema{AnyOf: []*JSONSchema{{Type: "string", Pattern: "^(-?" + pattern + "|0)$", Description: what}, {Const: 0}}}
}

func textSchema(p encoding.TextUnmarshaler) *JSONSchema {
	text := &JSONSchema{Type: "string"}
	if p, ok := p.(interface{ Pattern() string }); ok {
		text.Pattern = p.Pattern()
	}
	return &JSONSchema{AnyOf: []*JSONSchema{text, {Type: "number"}}}
}

// object is a mapping with certain keys; required says that the first must be
// there.
func object(required bool, list ...property) *JSONSchema {
	s := &JSONSchema{Type: "object", Properties: properties{}, AdditionalProperties: false}
	for _, p := range list {
		s.Properties = s.Properties.set(p)
	}
	if required {
		s.Required = []string{list[0].key}
	}
	return s
}

func (w schemaWriter) structOf(t reflect.Type, v reflect.Value) *JSONSchema {
	return object(false, w.properties(t, v)...)
}

// properties returns the keys of a struct.
func (w schemaWriter) properties(t reflect.Type, v reflect.Value) []property {
	var list []property
	for i := range t.NumField() {
		f := t.Field(i)
		if !isKey(f) {
			continue
		}
		var value reflect.Value
		if v.IsValid() {
			value = v.Field(i)
		}
		var s *JSONSchema
		switch words, kind := yaml.Allowed(f), f.Tag.Get("kind"); {
		case f.Type == reflect.TypeFor[[]Override]():
			if !w.named {
				continue // of overrides
			}
			s = w.overrides(t)
		case f.Type == reflect.TypeFor[map[string]Variant]():
			if !w.named {
				continue // of overrides
			}
			s = w.variants(t)
		case f.Tag.Get("takes") == yaml.Length:
			s = quantity0(units.DelayPattern, "a time such as 10us, or the length of a cable such as 3m or 100km")
		case f.Tag.Get("takes") == yaml.Forever:
			s = quantity0(units.TimePattern, "a time such as 10us, or forever")
			s.AnyOf = append(s.AnyOf, &JSONSchema{Const: yaml.Forever})
		case f.Type == reflect.TypeFor[map[string]Choice]():
			s = &JSONSchema{Type: "object", AdditionalProperties: w.choice(kind, reflect.Value{}, nil)}
		case kind != "":
			s = enum(schemeNames(kind))
		case words != nil && f.Type.Kind() != reflect.Slice:
			s = enum(words)
		default:
			s = w.of(f.Type, yaml.KeyOf(f), value)
		}
		follows := f.Tag.Get("follows")
		if follows != "" {
			s.Description = strings.TrimPrefix(s.Description+"; default: "+follows, "; ")
		}
		s.Description = strings.Join(slices.DeleteFunc([]string{f.Tag.Get("doc"), s.Description}, func(s string) bool { return s == "" }), "; ")
		if value.IsValid() && follows == "" {
			s.Default = defaultOf(f.Type, value)
		}
		list = append(list, property{yaml.KeyOf(f), s})
	}
	return list
}

// defaultOf is the default of a plain value as one writes it, nil for others.
func defaultOf(t reflect.Type, v reflect.Value) any {
	if isStruct(t) || t == reflect.TypeFor[units.Ratio]() && v.IsZero() || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.String && v.Len() == 0 {
		return nil
	}
	plain, err := plainOf(v)
	if err != nil {
		return nil
	}
	return plain
}

func enum(words []string) *JSONSchema {
	return &JSONSchema{Enum: words}
}

func schemeNames(kind string) []string {
	var names []string
	for _, k := range Kinds() {
		for _, s := range k.Schemes {
			if k.Name == kind {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// choice is one of the schemes of a plug point with its parameters. The default
// scheme, which v holds, need not be named.
func (w schemaWriter) choice(kind string, v reflect.Value, beside []property) *JSONSchema {
	standard := ""
	if v.IsValid() {
		if v.Type() != reflect.TypeFor[Choice]() {
			v = v.FieldByName("Choice")
		}
		standard = v.Interface().(Choice).Name
	}
	all := &JSONSchema{}
	for _, k := range Kinds() {
		if k.Name != kind {
			continue
		}
		for _, s := range k.Schemes {
			all.AnyOf = append(all.AnyOf, w.scheme("name", &s, s.Name != standard, beside))
		}
	}
	return all
}

// scheduler is a choice, or a list of groups under the name of one.
func (w schemaWriter) scheduler(v reflect.Value) *JSONSchema {
	t := reflect.TypeFor[Scheduler]()
	all := w.choice("scheduler", v, w.properties(t, v))
	params := w.properties(reflect.TypeFor[sched.DWRRParams](), reflect.Value{})
	for _, name := range namedLists {
		groups := w.of(reflect.TypeFor[[]string](), name, reflect.Value{})
		groups.Description = "groups that " + name + " serves: older form of name: " + name
		list := []property{{name, groups}}
		for _, p := range w.properties(t, v) {
			if p.key == "strict" {
				list = append(list, p)
			}
		}
		all.AnyOf = append(all.AnyOf, object(true, append(list, params...)...))
	}
	return all
}

// workload is a generator with its parameters, and the keys that all share.
func (w schemaWriter) workload() *JSONSchema {
	shared := slices.DeleteFunc(w.properties(reflect.TypeFor[Workload](), reflect.Value{}),
		func(p property) bool { return p.key == "generator" })
	all := &JSONSchema{}
	for _, k := range Kinds() {
		for _, s := range k.Schemes {
			if k.Name == "generator" {
				// What a generator has by itself hides the key that others share.
				own := w.scheme("generator", &s, true, nil)
				for _, p := range shared {
					if own.Properties.index(p.key) < 0 {
						own.Properties = append(own.Properties, p)
					}
				}
				all.AnyOf = append(all.AnyOf, own)
			}
		}
	}
	return all
}

// scheme is one scheme: its name under a key, its parameters, and what stands
// beside them.
func (w schemaWriter) scheme(key string, s *Scheme, mustName bool, beside []property) *JSONSchema {
	list := []property{{key, &JSONSchema{Const: s.Name, Description: s.Doc}}}
	if s.Params != nil {
		v := reflect.ValueOf(s.Params()).Elem()
		list = append(list, w.properties(v.Type(), v)...)
		if p, ok := s.Params().(interface{ Presets() []string }); ok {
			for i := range list {
				if list[i].key == "preset" {
					presets := enum(p.Presets())
					presets.Description = list[i].schema.Description
					list[i].schema = presets
				}
			}
		}
	}
	o := object(w.named && mustName, append(list, beside...)...)
	o.Title, o.Description = s.Name, s.Doc
	return o
}

// variants are names with keys of the struct that holds them.
func (w schemaWriter) variants(t reflect.Type) *JSONSchema {
	var list []property
	for _, p := range (schemaWriter{}).properties(t, reflect.Value{}) {
		if yaml.Scope(t, p.key) == "transport" {
			list = append(list, p)
		}
	}
	return &JSONSchema{Type: "object", AdditionalProperties: object(false, list...)}
}

// overrides is a list of exceptions: a pattern, and keys of the struct that holds
// them; of routing, a router with its parameters.
func (w schemaWriter) overrides(t reflect.Type) *JSONSchema {
	match := &JSONSchema{Type: "string", Description: "a pattern of names: * is any text, ? one character, [0-3] one of these"}
	list := []property{{"match", match}}
	for _, p := range (schemaWriter{}).properties(t, reflect.Value{}) {
		if yaml.Scope(t, p.key) != "fabric" {
			list = append(list, p)
		}
	}
	if t != reflect.TypeFor[Routing]() {
		return &JSONSchema{Type: "array", Items: object(true, list...)}
	}
	routers := (schemaWriter{}).choice("routing", reflect.Value{}, list)
	for _, r := range routers.AnyOf {
		r.Required = []string{"match"}
	}
	return &JSONSchema{Type: "array", Items: routers}
}
