package fabric

import (
	"reflect"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
)

// sameConfig reports whether two scenarios are equal apart from locations.
func sameConfig(a, b *scenario.Config) bool {
	return sameValue(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func sameValue(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Type() {
	case reflect.TypeFor[yaml.Location](), reflect.TypeFor[*yaml.Locations]():
		return true
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return sameValue(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if name := a.Type().Field(i).Name; a.Type() == reflect.TypeFor[yaml.Node]() && (name == "Quoted" || name == "Literal") {
				continue // chosen by the writer
			}
			if !sameValue(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameValue(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, k := range a.MapKeys() {
			if !sameValue(a.MapIndex(k), b.MapIndex(k)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
