package yaml

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Decoder fills Go values from nodes, overriding what they hold.
type Decoder struct {
	Places  *Places // notes where keys are; nil: they are known already
	What    string  // kind of document, which messages about the whole of it name
	Longest int     // characters of a word; 0: MaxWord
	// Forms returns the Form or Keyed of a pointer to a type with a notation of its
	// own; nil for others. It may be nil.
	Forms func(pointer any) any
}

// Form is a type with a notation of its own.
type Form interface {
	Decode(d *Decoder, n *Node, path string) error
}

// Keyed is a type that reads the keys of its mapping itself.
type Keyed interface {
	DecodeKeys(d *Decoder, entries []Entry, path string) error
	// Part returns what one of the keys stands for, so that a path can lead into it.
	Part(key string) (reflect.Value, bool)
}

// MaxWord bounds keys and values, and with them the messages that repeat them.
const MaxWord = 500

func (d *Decoder) longest() int {
	if d.Longest != 0 {
		return d.Longest
	}
	return MaxWord
}

// Fail makes an error at a place; path may be empty.
func (d *Decoder) Fail(at Place, path, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if path != "" {
		err = At(path, err)
	}
	return at.Error(err)
}

// Decode fills a value, which v points to, from a whole document.
func (d *Decoder) Decode(n *Node, v any) error { return d.Value(n, "", reflect.ValueOf(v).Elem()) }

// maxText bounds the paragraphs of files that are read as a whole.
const maxText = 5000

// Read decodes a file of a kind that what names. Into is a pointer to a struct of
// strings, numbers, truth values, quantities, and lists, maps and structs of these.
func Read(name string, data []byte, what string, into any) (*Places, error) {
	src := NewSource(name, data)
	body, err := Parse(src, data, what)
	if err != nil {
		return nil, err
	}
	d := &Decoder{Places: NewPlaces(src), What: what, Longest: maxText}
	return d.Places, d.Decode(body, into)
}

// Entries returns the keys of a mapping.
func (d *Decoder) Entries(n *Node, path string) ([]Entry, error) {
	if n.Shape != Mapping {
		return nil, d.Mismatch(n, path, "keys with values")
	}
	seen := make(map[string]bool)
	for _, e := range n.Keys {
		switch {
		case e.Odd || len(e.Key) > MaxWord:
			return nil, d.Fail(e.At, path, "this is not a key; allowed: plain words")
		case seen[e.Key]:
			return nil, d.Fail(e.At, path, "key %q is given twice; allowed: once", e.Key)
		}
		seen[e.Key] = true
	}
	return n.Keys, nil
}

// Note remembers the place of a key: of its value when that is a plain one.
func (d *Decoder) Note(path string, e Entry) {
	if d.Places == nil {
		return
	}
	at := e.At
	if e.Value.Shape == Word {
		at = e.Value.At
	}
	d.Places.values[path] = at
	d.Places.keys[path] = e.At
}

// noteItem is Note for an item of a list.
func (d *Decoder) noteItem(path string, n *Node) { d.Note(path, Entry{At: n.At, Value: n}) }

// Mismatch says that a value is of the wrong shape.
func (d *Decoder) Mismatch(n *Node, path, want string) error {
	what := "this does not fit here"
	switch n.Shape {
	case Null:
		what = "there is no value"
	case List:
		what = "a list does not fit here"
	case Foreign:
		what = "YAML anchors, aliases and tags are not used"
	case Mapping:
		what = "a mapping does not fit here"
	case Word:
		what = strconv.Quote(n.Text) + " does not fit here"
	}
	if path == "" {
		path = d.What
	}
	return d.Fail(n.At, path, "%s; allowed: %s", what, want)
}

// Value decodes a node into v.
func (d *Decoder) Value(n *Node, path string, v reflect.Value) error {
	if n.Shape == Word && len(n.Text) > d.longest() {
		return d.Fail(n.At, path, "the value has %d characters; allowed: at most %d", len(n.Text), d.longest())
	}
	pointer := v.Addr().Interface()
	if d.Forms != nil {
		switch f := d.Forms(pointer).(type) {
		case Form:
			return f.Decode(d, n, path)
		case Keyed:
			entries, err := d.entriesFor(n, path, v)
			if err != nil {
				return err
			}
			return f.DecodeKeys(d, entries, path)
		}
	}
	switch t := pointer.(type) {
	case *units.Time, *units.Bytes, *units.Rate, encoding.TextUnmarshaler:
		return d.text(n, path, t)
	}
	switch v.Kind() {
	case reflect.Struct:
		entries, err := d.entriesFor(n, path, v)
		if err != nil {
			return err
		}
		return d.Fields(entries, path, v, nil)
	case reflect.Slice:
		return d.List(n, path, v)
	case reflect.Map:
		return d.mapping(n, path, v)
	default:
		return d.plain(n, path, v)
	}
}

// text decodes a quantity.
func (d *Decoder) text(n *Node, path string, into any) error {
	if n.Shape != Word {
		return d.Mismatch(n, path, "one value, such as "+exampleOf(into))
	}
	var err error
	switch into := into.(type) {
	case *units.Time:
		*into, err = quantity(n.Text, units.ParseTime)
	case *units.Bytes:
		*into, err = quantity(n.Text, units.ParseBytes)
	case *units.Rate:
		*into, err = quantity(n.Text, units.ParseRate)
	case encoding.TextUnmarshaler:
		err = into.UnmarshalText([]byte(n.Text))
	}
	if err != nil {
		return d.Fail(n.At, path, "%w", err)
	}
	return nil
}

// quantity accepts a zero without a unit: it is the same in all of them.
func quantity[T any](s string, parse func(string) (T, error)) (T, error) {
	if s == "0" {
		var zero T
		return zero, nil
	}
	return parse(s)
}

func exampleOf(v any) string {
	switch v.(type) {
	case *units.Time:
		return "10us"
	case *units.Bytes:
		return "64KB"
	case *units.Rate:
		return "100Gbps"
	}
	return "1"
}

// plain decodes a number, a word or a truth value.
func (d *Decoder) plain(n *Node, path string, v reflect.Value) error {
	s, ok, bare := n.Text, n.Shape == Word, n.Shape == Word && !n.Quoted
	var want string
	switch v.Kind() {
	case reflect.String:
		want = "a word"
		if ok {
			v.SetString(s)
			return nil
		}
	case reflect.Int:
		want = "a whole number"
		i, err := strconv.ParseInt(s, 10, 64)
		if bare && err == nil {
			v.SetInt(i)
			return nil
		}
		if bare && errors.Is(err, strconv.ErrRange) {
			return d.outOfRange(n, path, "-2^63 to 2^63 - 1")
		}
	case reflect.Uint64:
		want = "a whole number, 0 or more"
		i, err := strconv.ParseUint(s, 10, 64)
		if bare && err == nil {
			v.SetUint(i)
			return nil
		}
		if bare && errors.Is(err, strconv.ErrRange) {
			return d.outOfRange(n, path, "0 to 2^64 - 1")
		}
	case reflect.Float64:
		want = "a number"
		f, err := strconv.ParseFloat(s, 64)
		if bare && err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			v.SetFloat(f)
			return nil
		}
		if bare && errors.Is(err, strconv.ErrRange) {
			return d.outOfRange(n, path, "-1.8e308 to 1.8e308")
		}
	case reflect.Bool:
		want = "true, false"
		if bare && (s == "true" || s == "false") {
			v.SetBool(s == "true")
			return nil
		}
	default:
		panic(fmt.Sprintf("strict: %s is a %s, which no file can hold", path, v.Type()))
	}
	return d.Mismatch(n, path, want)
}

// outOfRange says that a number is one that nothing here can hold.
func (d *Decoder) outOfRange(n *Node, path, allowed string) error {
	size := "large"
	if strings.HasPrefix(n.Text, "-") {
		size = "small"
	}
	return d.Fail(n.At, path, "%.60s is too %s; allowed: %s", n.Text, size, allowed)
}

// List decodes a sequence; it replaces what was there.
func (d *Decoder) List(n *Node, path string, v reflect.Value) error {
	if n.Shape != List {
		return d.Mismatch(n, path, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	if len(n.Items) == 0 {
		v.SetZero()
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.noteItem(at, item)
		if err := d.Value(item, at, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// mapping decodes a map; it replaces what was there.
func (d *Decoder) mapping(n *Node, path string, v reflect.Value) error {
	entries, err := d.entriesFor(n, path, v)
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range entries {
		k := reflect.New(v.Type().Key()).Elem()
		if k.Kind() == reflect.Int {
			i, err := strconv.Atoi(e.Key)
			if err != nil {
				return d.Fail(e.At, path, "%q is not a number; allowed: ids of classes", e.Key)
			}
			k.SetInt(int64(i))
		} else {
			k.SetString(e.Key)
		}
		at := Join(path, e.Key)
		d.Note(at, e)
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.Value(e.Value, at, item); err != nil {
			return err
		}
		v.SetMapIndex(k, item)
	}
	return nil
}

// Fields decodes entries into the fields of a struct. More are keys that stand
// beside them and are the caller's business.
func (d *Decoder) Fields(entries []Entry, path string, v reflect.Value, more []string) error {
	known := keysOf(v.Type())
	for _, e := range entries {
		i, ok := known[e.Key]
		if !ok {
			return d.unknown(e, path, slices.Concat(more, KeyNames(v.Type())))
		}
		at := Join(path, e.Key)
		d.Note(at, e)
		if err := d.field(e.Value, at, v.Type().Field(i), v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// field decodes a field of a struct. Its tag takes names what a time can also be
// written as: the length of a cable, or forever, which becomes units.Never.
func (d *Decoder) field(n *Node, path string, f reflect.StructField, v reflect.Value) error {
	takes := f.Tag.Get("takes")
	t, ok := v.Addr().Interface().(*units.Time)
	if takes == "" || !ok || n.Shape != Word || len(n.Text) > d.longest() {
		return d.Value(n, path, v)
	}
	var err error
	switch {
	case takes == Length:
		*t, err = quantity(n.Text, units.ParseDelay)
	case takes != Forever:
		panic(fmt.Sprintf("strict: %s takes %q, which no time is written as", path, takes))
	case n.Text == Forever:
		*t = units.Never
	default:
		if *t, err = quantity(n.Text, units.ParseTime); err != nil {
			err = fmt.Errorf("%w, or %s", err, Forever)
		}
	}
	if err != nil {
		return d.Fail(n.At, path, "%w", err)
	}
	return nil
}

// What times can also be written as, by the tag takes of a field.
const (
	Length  = "length"  // of a cable, in m or km
	Forever = "forever" // to the end of the run
)

func (d *Decoder) unknown(e Entry, path string, known []string) error {
	if path == "" {
		path = d.What
	}
	return d.Fail(e.At, path, "%w", registry.Unknown("key", e.Key, known))
}

// Take hands the entry of a key to use and returns the others.
func Take(entries []Entry, key string, use func(Entry) error) ([]Entry, error) {
	var rest []Entry
	for _, e := range entries {
		if e.Key != key {
			rest = append(rest, e)
			continue
		}
		if err := use(e); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// keysOf returns the field of each key of a struct.
func keysOf(t reflect.Type) map[string]int {
	keys := make(map[string]int)
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !f.Anonymous {
			keys[KeyOf(f)] = i
		}
	}
	return keys
}

// KeyNames returns the keys of a struct in the order of its fields.
func KeyNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !f.Anonymous {
			names = append(names, KeyOf(f))
		}
	}
	return names
}

// KeyOf returns the key under which a field is written.
func KeyOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
		return name
	}
	return strings.ToLower(f.Name)
}

// Field returns the field of a struct that a key stands for.
func Field(v reflect.Value, key string) (reflect.Value, bool) {
	i, ok := keysOf(v.Type())[key]
	if !ok {
		return reflect.Value{}, false
	}
	return v.Field(i), true
}

// Scope returns how widely a key of a struct holds, by the tag of its field.
func Scope(t reflect.Type, key string) string {
	if i, ok := keysOf(t)[key]; ok {
		return t.Field(i).Tag.Get("scope")
	}
	return ""
}

// KeysWithin returns the keys of a struct whose scope is one of some.
func KeysWithin(t reflect.Type, scopes ...string) []string {
	return slices.DeleteFunc(KeyNames(t), func(key string) bool { return !slices.Contains(scopes, Scope(t, key)) })
}
