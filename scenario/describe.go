package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	goccy "github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Key documents a key of a scenario. It is derived from the struct field into which the key
// is decoded.
type Key struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default string   `json:"default,omitempty"` // in YAML
	Follows string   `json:"follows,omitempty"` // default in words, if it depends on other keys
	Allowed []string `json:"allowed,omitempty"` // permitted values; empty: any
	Doc     string   `json:"doc,omitempty"`
	Keys    []Key    `json:"keys,omitempty"` // keys below it
	Kind    string   `json:"kind,omitempty"` // plug point whose schemes can be selected here
}

// Describe returns all keys of a scenario, except the parameters of schemes; see
// Scheme.Describe.
func Describe() []Key { return describe(reflect.ValueOf(Default()).Elem()) }

// Describe returns the parameters of a scheme.
func (s *Scheme) Describe() []Key {
	if s.Params == nil {
		return nil
	}
	keys := describe(reflect.ValueOf(s.Params()).Elem())
	if p, ok := s.Params().(interface{ Presets() []string }); ok {
		for i := range keys {
			if keys[i].Name == "preset" {
				keys[i].Allowed = p.Presets()
			}
		}
	}
	return keys
}

// describe returns the keys of a struct; v holds the defaults.
func describe(v reflect.Value) []Key {
	var keys []Key
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Type == reflect.TypeFor[Choice]() {
			keys = append(keys, choiceKey(v.Field(i).Interface().(Choice)))
			continue
		}
		if !isKey(f) {
			continue
		}
		k := Key{Name: yaml.KeyOf(f), Type: typeName(f.Type), Allowed: yaml.Allowed(f), Kind: f.Tag.Get("kind"), Doc: f.Tag.Get("doc"), Follows: f.Tag.Get("follows")}
		switch {
		case f.Type == reflect.TypeFor[Choice]():
			k.Kind, k.Type = k.Name, "scheme"
			k.Keys = []Key{choiceKey(v.Field(i).Interface().(Choice))}
		case f.Tag.Get("takes") != "":
			k.Type = takesName[f.Tag.Get("takes")]
			k.Default = defaultText(v.Field(i))
		case f.Type == reflect.TypeFor[map[string]Choice]():
			k.Type = "groups with schemes"
		case f.Type == reflect.TypeFor[Override]() || f.Type == reflect.TypeFor[[]Override]():
			k.Type = "list of overrides"
		case f.Type == reflect.TypeFor[map[string]Variant]():
			k.Type = "names with keys of hosts"
		case isStruct(f.Type):
			if embedsChoice(f.Type) {
				k.Kind, k.Type = k.Name, "scheme"
			}
			k.Keys = describe(v.Field(i))
		case (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map) && isStruct(f.Type.Elem()):
			k.Keys = withoutDefaults(describe(reflect.New(f.Type.Elem()).Elem()))
			k.Default = defaultText(v.Field(i))
		default:
			k.Default = defaultText(v.Field(i))
		}
		keys = append(keys, k)
	}
	return keys
}

// takesName is the type of a time with another notation, by the tag `takes`.
var takesName = map[string]string{yaml.Length: "time or length", yaml.Forever: "time or forever"}

// isKey reports whether a field has a key of its own.
func isKey(f reflect.StructField) bool {
	tag := f.Tag.Get("yaml")
	return f.IsExported() && !f.Anonymous && tag != "" && tag != "-"
}

// embedsChoice reports whether a struct embeds a Choice.
func embedsChoice(t reflect.Type) bool {
	f, ok := t.FieldByName("Choice")
	return ok && f.Anonymous
}

// withoutDefaults removes the defaults: items of lists have none.
func withoutDefaults(keys []Key) []Key {
	for i := range keys {
		keys[i].Default = ""
		withoutDefaults(keys[i].Keys)
	}
	return keys
}

func choiceKey(c Choice) Key {
	return Key{Name: "name", Type: "word", Default: c.Name, Doc: "name of the scheme; its parameters are further keys of the same mapping"}
}

// isStruct reports whether a type is decoded from a mapping of its fields.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) &&
		t != reflect.TypeFor[ClassChoice]()
}

// defaultText returns a default in YAML, or "" if there is none.
func defaultText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		if v.Len() == 0 {
			return ""
		}
	}
	if v.IsZero() && v.Type() == reflect.TypeFor[units.Ratio]() {
		return "" // no default
	}
	plain, err := plainOf(v)
	if err != nil {
		return ""
	}
	text, err := goccy.MarshalWithOptions(plain, goccy.Flow(true))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// typeName returns a type in words.
func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[units.Time]():
		return "time"
	case reflect.TypeFor[units.Bytes]():
		return "size"
	case reflect.TypeFor[units.Rate]():
		return "rate"
	case reflect.TypeFor[ClassChoice]():
		return "class"
	case reflect.TypeFor[Selection]():
		return "hosts"
	case reflect.TypeFor[Expectation]():
		return "condition"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return strings.ToLower(t.Name())
	}
	switch t.Kind() {
	case reflect.Int, reflect.Uint64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "list of " + plural(typeName(t.Elem()))
	case reflect.Map:
		if t.Key().Kind() == reflect.Int {
			return typeName(t.Elem()) + " by class id"
		}
		return "names with " + plural(typeName(t.Elem()))
	case reflect.Struct:
		return "mapping"
	case reflect.String:
		return "word"
	}
	return fmt.Sprint(t)
}

func plural(word string) string {
	switch {
	case word == "true or false":
		return word
	case strings.HasPrefix(word, "list of "):
		return "lists of " + word[len("list of "):]
	case strings.HasSuffix(word, "s"):
		return word + "es"
	}
	return word + "s"
}
