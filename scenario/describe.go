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

// Key describes a key of a scenario: what may stand there and what it means. All
// of it comes from the struct that the key is decoded into.
type Key struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default string   `json:"default,omitempty"` // as one writes it
	Follows string   `json:"follows,omitempty"` // or in words, where other keys decide it
	Allowed []string `json:"allowed,omitempty"` // words; none: not only certain ones
	Doc     string   `json:"doc,omitempty"`
	Keys    []Key    `json:"keys,omitempty"` // below it
	Kind    string   `json:"kind,omitempty"` // plug point whose schemes can be named here
}

// Describe returns every key of a scenario. Parameters of schemes are with their
// schemes, see Kinds.
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

// describe reads the keys of a struct that holds the defaults.
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
			if holdsChoice(f.Type) {
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

// takesName says in words what is written where a time can be something else, too.
var takesName = map[string]string{yaml.Length: "time or length", yaml.Forever: "time or forever"}

// isKey reports whether a field is written under its own key.
func isKey(f reflect.StructField) bool {
	tag := f.Tag.Get("yaml")
	return f.IsExported() && !f.Anonymous && tag != "" && tag != "-"
}

// holdsChoice reports whether a struct is a scheme with keys beside it.
func holdsChoice(t reflect.Type) bool {
	f, ok := t.FieldByName("Choice")
	return ok && f.Anonymous
}

// withoutDefaults is for items of lists, which have none.
func withoutDefaults(keys []Key) []Key {
	for i := range keys {
		keys[i].Default = ""
		withoutDefaults(keys[i].Keys)
	}
	return keys
}

func choiceKey(c Choice) Key {
	return Key{Name: "name", Type: "word", Default: c.Name, Doc: "the scheme; its parameters stand beside it"}
}

// isStruct reports whether a type is written as a mapping of its fields.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) &&
		t != reflect.TypeFor[ClassChoice]()
}

// defaultText prints a default as one writes it; nothing for what has none.
func defaultText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		if v.Len() == 0 {
			return ""
		}
	}
	if v.IsZero() && v.Type() == reflect.TypeFor[units.Ratio]() {
		return "" // none
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

// typeName says in words what is written.
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
