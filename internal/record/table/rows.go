package table

import (
	"fmt"
	"math"
	"reflect"
)

// Rows reads rows of a table into structs. The tag `column` of a field names its column, and its
// type is int64, float64, bool, string or a pointer to int64. Missing columns and values leave a
// field as it is.
func Rows[T any](t *File) (list []T, err error) {
	kind := reflect.TypeFor[T]()
	for f := range kind.NumField() {
		name, ok := kind.Field(f).Tag.Lookup("column")
		column := t.Find(name)
		if !ok || column < 0 {
			continue
		}
		row := 0
		err := t.Each(column, func(words []int64) {
			if missing := row + len(words) - len(list); missing > 0 {
				list = append(list, make([]T, missing)...)
			}
			c := &t.Columns[column]
			for _, w := range words {
				if !c.Nullable || w != Null {
					set(reflect.ValueOf(&list[row]).Elem().Field(f), c, w)
				}
				row++
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// set sets a field to a word.
func set(field reflect.Value, c *Column, w int64) {
	switch {
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.ValueOf(&w))
	case c.Type == Float && field.Kind() == reflect.Float64:
		field.SetFloat(math.Float64frombits(uint64(w)))
	case c.Type == Bool && field.Kind() == reflect.Bool:
		field.SetBool(w != 0)
	case c.Type == Text && field.Kind() == reflect.String:
		field.SetString(c.Texts[w])
	case c.Type == Int && field.Kind() == reflect.Int64:
		field.SetInt(w)
	default:
		panic(fmt.Sprintf("column %s does not fit a field of type %v", c.Name, field.Type()))
	}
}
