package yaml

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// First returns the first non-nil error.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// When returns check if the condition is true, else nil.
func When(condition bool, check error) error {
	if condition {
		return check
	}
	return nil
}

// Within checks that v is in the range lo to hi, inclusive.
func Within[T cmp.Ordered](path string, v, lo, hi T) error {
	switch {
	case v < lo:
		return Atf(path, "%s is too small (expected %s to %s)", Show(v), Show(lo), Show(hi))
	case v > hi:
		return Atf(path, "%s is too large (expected %s to %s)", Show(v), Show(lo), Show(hi))
	}
	return nil
}

// Show formats a bound as a user would write it.
func Show(v any) string {
	switch t := v.(type) {
	case units.Time:
		if t == 0 || t == units.MaxTime {
			return strconv.FormatInt(int64(t/units.Second), 10) + "s"
		}
	case units.Bytes:
		if t%units.KB != 0 && t%units.KiB != 0 {
			return strconv.FormatInt(int64(t), 10) + "B"
		}
	}
	return fmt.Sprint(v)
}

// Span checks that a time is not negative.
func Span(path string, t units.Time) error { return Within(path, t, 0, units.MaxTime) }

// Positive checks that a time is greater than zero.
func Positive(path string, t units.Time) error {
	if t > 0 && t <= units.MaxTime {
		return nil
	}
	size := "small"
	if t > 0 {
		size = "large"
	}
	return Atf(path, "%s is too %s (expected more than 0s, at most %s)", Show(t), size, Show(units.MaxTime))
}

// OneOf checks that word is one of the allowed values.
func OneOf(path, word string, allowed ...string) error {
	for _, a := range allowed {
		if word == a {
			return nil
		}
	}
	return Atf(path, "%q is unknown%s (allowed: %s)", word, registry.DidYouMean(word, allowed), strings.Join(allowed, ", "))
}

// Allowed returns the values in the `allowed` tag of a field; nil means that any value is allowed.
func Allowed(f reflect.StructField) []string {
	if tag := f.Tag.Get("allowed"); tag != "" {
		return strings.Split(tag, ",")
	}
	return nil
}

// Words checks all fields with an `allowed` tag, in the struct v and in nested structs.
func Words(path string, v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		at := Join(path, KeyOf(f))
		var err error
		switch words := Allowed(f); {
		case words != nil && f.Type.Kind() == reflect.Slice:
			for k := range v.Field(i).Len() {
				err = First(err, OneOf(fmt.Sprintf("%s[%d]", at, k), v.Field(i).Index(k).String(), words...))
			}
		case words != nil:
			err = OneOf(at, v.Field(i).String(), words...)
		case f.Type.Kind() == reflect.Struct && !f.Anonymous:
			err = Words(at, v.Field(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Name reports whether s is a valid name for a group of classes, a transport or a file: a
// letter, then letters, digits, - and _, at most 64 characters.
func Name(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '-' || r == '_')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
