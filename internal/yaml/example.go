package yaml

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Exemplary is a struct or a Keyed that returns an example of its keys for messages. Word is
// the plain word found instead of a mapping, or "".
type Exemplary interface {
	Example(path, word string) string
}

// entriesFor returns the entries from which v is decoded. If n is not a mapping, the error
// shows example keys of v.
func (d *Decoder) entriesFor(n *Node, path string, v reflect.Value) ([]Entry, error) {
	if n.Shape != Mapping {
		return nil, d.Mismatch(n, path, "keys with values, such as "+d.exampleKeys(path, n.Text, v, 2))
	}
	return d.Entries(n, path)
}

// exampleKeys formats the first keys of v with their values, or with example values.
func (d *Decoder) exampleKeys(path, word string, v reflect.Value, most int) string {
	if d.Forms != nil {
		if e, ok := d.Forms(v.Addr().Interface()).(Exemplary); ok {
			return e.Example(path, word)
		}
	}
	if e, ok := v.Addr().Interface().(Exemplary); ok {
		return e.Example(path, word)
	}
	if v.Kind() == reflect.Map {
		return "{NAME: " + d.example(Join(path, "NAME"), nil, reflect.New(v.Type().Elem()).Elem()) + "}"
	}
	var parts []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		rare := v.Field(i).IsZero() && strings.Contains(f.Tag.Get("yaml"), ",omitempty")
		if f.IsExported() && !f.Anonymous && !rare && len(parts) < most {
			parts = append(parts, KeyOf(f)+": "+d.example(Join(path, KeyOf(f)), Allowed(f), v.Field(i)))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// example formats v as a user would write it; if v is zero, it returns an example value.
func (d *Decoder) example(path string, allowed []string, v reflect.Value) string {
	switch t := v.Addr().Interface().(type) {
	case *units.Time, *units.Bytes, *units.Rate:
		if v.IsZero() {
			return exampleOf(t)
		}
		return fmt.Sprint(v)
	case encoding.TextMarshaler:
		if text, err := t.MarshalText(); err == nil {
			return string(text)
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.exampleKeys(path, "", v, 2)
	case reflect.Map:
		return d.exampleKeys(path, "", v, 1)
	case reflect.Slice:
		return "[" + d.example(path+"[0]", allowed, reflect.New(v.Type().Elem()).Elem()) + "]"
	case reflect.String:
		if v.String() == "" {
			return append(allowed, "WORD")[0]
		}
	}
	return fmt.Sprint(v)
}
