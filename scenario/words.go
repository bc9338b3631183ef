package scenario

import (
	"fmt"
	"reflect"
	"strings"
)

// allowedWords returns the words that a field may hold, from its tag; nil: any.
func allowedWords(f reflect.StructField) []string {
	if tag := f.Tag.Get("allowed"); tag != "" {
		return strings.Split(tag, ",")
	}
	return nil
}

// checkWords checks the fields of a struct, and of those below it, whose tag says
// which words are allowed.
func checkWords(path string, v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		at := join(path, keyOf(f))
		var err error
		switch words := allowedWords(f); {
		case words != nil && f.Type.Kind() == reflect.Slice:
			for k := range v.Field(i).Len() {
				err = first(err, oneOf(fmt.Sprintf("%s[%d]", at, k), v.Field(i).Index(k).String(), words...))
			}
		case words != nil:
			err = oneOf(at, v.Field(i).String(), words...)
		case f.Type.Kind() == reflect.Struct && !f.Anonymous:
			err = checkWords(at, v.Field(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
