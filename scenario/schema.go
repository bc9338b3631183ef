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

// Schema returns the JSON schema of scenarios, for editors. It is derived from the structs that
// scenarios are decoded into and from the registries. It does not check rules between keys.
func Schema() *JSONSchema {
	w := schemaWriter{named: true}
	s := w.structOf(reflect.TypeFor[Config](), reflect.ValueOf(Default()).Elem())
	s.Version = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "xoff scenario"
	s.Description = "A simulation of a lossless fabric: xoff run FILE"
	return s
}

// schemaWriter creates the schemas of types. If named is true, the name of a scheme is required
// unless it is the default. It is false in overrides, where the default is not known.
type schemaWriter struct{ named bool }

// of returns the schema of a type for a key. V holds the defaults; it is invalid if there are
// none.
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
		if embedsChoice(t) {
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
		// Strings that look like numbers or booleans need no quotes.
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

// quantity0 returns the schema of a quantity with a unit, or zero without a unit.
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

// object returns the schema of a mapping with the given keys. If required is true, the first
// key is required.
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
				continue // overrides have none
			}
			s = w.overrides(t)
		case f.Type == reflect.TypeFor[map[string]Variant]():
			if !w.named {
				continue // overrides have none
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

// defaultOf returns the default of a plain value in YAML, nil for other values.
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

// choice returns the schema of a Choice: the schemes of a plug point with their parameters.
// The name of the default scheme, which v holds, is optional.
func (w schemaWriter) choice(kind string, v reflect.Value, extra []property) *JSONSchema {
	defaultName := ""
	if v.IsValid() {
		if v.Type() != reflect.TypeFor[Choice]() {
			v = v.FieldByName("Choice")
		}
		defaultName = v.Interface().(Choice).Name
	}
	all := &JSONSchema{}
	for _, k := range Kinds() {
		if k.Name != kind {
			continue
		}
		for _, s := range k.Schemes {
			all.AnyOf = append(all.AnyOf, w.scheme("name", &s, s.Name != defaultName, extra))
		}
	}
	return all
}

// scheduler returns the schema of a Scheduler, including its older notation.
func (w schemaWriter) scheduler(v reflect.Value) *JSONSchema {
	t := reflect.TypeFor[Scheduler]()
	all := w.choice("scheduler", v, w.properties(t, v))
	params := w.properties(reflect.TypeFor[sched.DWRRParams](), reflect.Value{})
	for _, name := range namedLists {
		groups := w.of(reflect.TypeFor[[]string](), name, reflect.Value{})
		groups.Description = "groups served by " + name + "; older notation of name: " + name
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

// workload returns the schema of a Workload: generators with their parameters, and shared keys.
func (w schemaWriter) workload() *JSONSchema {
	shared := slices.DeleteFunc(w.properties(reflect.TypeFor[Workload](), reflect.Value{}),
		func(p property) bool { return p.key == "generator" })
	all := &JSONSchema{}
	for _, k := range Kinds() {
		for _, s := range k.Schemes {
			if k.Name == "generator" {
				// A parameter hides the shared key of the same name.
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

// scheme returns the schema of one scheme: its name under key, its parameters, and the
// extra properties.
func (w schemaWriter) scheme(key string, s *Scheme, mustName bool, extra []property) *JSONSchema {
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
	o := object(w.named && mustName, append(list, extra...)...)
	o.Title, o.Description = s.Name, s.Doc
	return o
}

// variants returns the schema of named transports; t is the struct whose keys they change.
func (w schemaWriter) variants(t reflect.Type) *JSONSchema {
	var list []property
	for _, p := range (schemaWriter{}).properties(t, reflect.Value{}) {
		if yaml.Scope(t, p.key) == "transport" {
			list = append(list, p)
		}
	}
	return &JSONSchema{Type: "object", AdditionalProperties: object(false, list...)}
}

// overrides returns the schema of a list of overrides; t is the struct whose keys they change.
// Overrides of routing also have a router and its parameters.
func (w schemaWriter) overrides(t reflect.Type) *JSONSchema {
	match := &JSONSchema{Type: "string", Description: "pattern of names: * matches any text, ? one character, [0-3] one of these"}
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
