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

// Decoder decodes nodes into Go values. Keys that are absent leave a value unchanged.
type Decoder struct {
	Locations *Locations // records where keys were written; nil: they are recorded already
	What      string     // kind of document, for messages about the whole document
	Longest   int        // maximum length of a word in bytes; 0: MaxWord
	// Forms maps a pointer to its Form or Keyed if the type has a custom notation, else to
	// nil. It may be nil.
	Forms func(pointer any) any
}

// Form is a type that decodes itself from a node.
type Form interface {
	Decode(d *Decoder, n *Node, path string) error
}

// Keyed is a type that decodes the keys of its mapping itself.
type Keyed interface {
	DecodeKeys(d *Decoder, entries []Entry, path string) error
	// Part returns the value behind a key, so that a path can continue below it.
	Part(key string) (reflect.Value, bool)
}

// MaxWord is the maximum length of keys and values in bytes. It also bounds messages that
// quote them.
const MaxWord = 500

func (d *Decoder) longest() int {
	if d.Longest != 0 {
		return d.Longest
	}
	return MaxWord
}

// Fail returns an error at a location; path may be empty.
func (d *Decoder) Fail(at Location, path, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if path != "" {
		err = At(path, err)
	}
	return at.Error(err)
}

// Decode decodes a whole document into the value that v points to.
func (d *Decoder) Decode(n *Node, v any) error { return d.Value(n, "", reflect.ValueOf(v).Elem()) }

// maxText is the maximum length of a value in files that Read decodes: they contain paragraphs.
const maxText = 5000

// Read decodes a file into the struct that into points to. Its fields may be strings,
// numbers, booleans, quantities, and lists, maps and structs of these. What names the kind
// of document in messages.
func Read(name string, data []byte, what string, into any) (*Locations, error) {
	src := NewSource(name, data)
	body, err := Parse(src, data, what)
	if err != nil {
		return nil, err
	}
	d := &Decoder{Locations: NewLocations(src), What: what, Longest: maxText}
	return d.Locations, d.Decode(body, into)
}

// Entries returns the entries of a mapping. Duplicate keys are an error.
func (d *Decoder) Entries(n *Node, path string) ([]Entry, error) {
	if n.Shape != Mapping {
		return nil, d.Mismatch(n, path, "keys with values")
	}
	seen := make(map[string]bool)
	for _, e := range n.Keys {
		switch {
		case e.NotScalar || len(e.Key) > MaxWord:
			return nil, d.Fail(e.At, path, "invalid key (expected a plain word of at most %d characters)", MaxWord)
		case seen[e.Key]:
			return nil, d.Fail(e.At, path, "duplicate key %q (expected once)", e.Key)
		}
		seen[e.Key] = true
	}
	return n.Keys, nil
}

// Note records the location of a key, and of its value if that is a scalar.
func (d *Decoder) Note(path string, e Entry) {
	if d.Locations == nil {
		return
	}
	at := e.At
	if e.Value.Shape == Scalar {
		at = e.Value.At
	}
	d.Locations.values[path] = at
	d.Locations.keys[path] = e.At
}

// noteItem is Note for an item of a list.
func (d *Decoder) noteItem(path string, n *Node) { d.Note(path, Entry{At: n.At, Value: n}) }

// Mismatch returns an error for a value of the wrong shape; want describes the right one.
func (d *Decoder) Mismatch(n *Node, path, want string) error {
	what := "unexpected value"
	switch n.Shape {
	case Null:
		what = "missing value"
	case List:
		what = "unexpected list"
	case Unsupported:
		what = "YAML anchors, aliases and tags are not supported"
	case Mapping:
		what = "unexpected mapping"
	case Scalar:
		what = "unexpected value " + strconv.Quote(n.Text)
	}
	if path == "" {
		path = d.What
	}
	return d.Fail(n.At, path, "%s (expected %s)", what, want)
}

// Value decodes a node into v.
func (d *Decoder) Value(n *Node, path string, v reflect.Value) error {
	if n.Shape == Scalar && len(n.Text) > d.longest() {
		return d.Fail(n.At, path, "the value has %d characters (expected at most %d)", len(n.Text), d.longest())
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
	if n.Shape != Scalar {
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

// quantity parses a quantity. Zero needs no unit.
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

// plain decodes a number, a string or a boolean.
func (d *Decoder) plain(n *Node, path string, v reflect.Value) error {
	s, ok, bare := n.Text, n.Shape == Scalar, n.Shape == Scalar && !n.Quoted
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
		want = "true or false"
		if bare && (s == "true" || s == "false") {
			v.SetBool(s == "true")
			return nil
		}
	default:
		panic(fmt.Sprintf("yaml: %s has type %s, which cannot be decoded", path, v.Type()))
	}
	return d.Mismatch(n, path, want)
}

// outOfRange returns an error for a number that its Go type cannot represent.
func (d *Decoder) outOfRange(n *Node, path, want string) error {
	size := "large"
	if strings.HasPrefix(n.Text, "-") {
		size = "small"
	}
	return d.Fail(n.At, path, "%.60s is too %s (expected %s)", n.Text, size, want)
}

// List decodes a sequence into the slice v and replaces its items.
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

// mapping decodes a mapping into the map v and replaces its entries.
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
				return d.Fail(e.At, path, "%q is not a number (expected the id of a class)", e.Key)
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

// Fields decodes entries into the fields of a struct. More lists keys that the caller has
// decoded already; messages about unknown keys include them.
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

// field decodes a field of a struct. The tag `takes` permits another notation for a time: the
// length of a cable, or forever, which becomes units.Never.
func (d *Decoder) field(n *Node, path string, f reflect.StructField, v reflect.Value) error {
	takes := f.Tag.Get("takes")
	t, ok := v.Addr().Interface().(*units.Time)
	if takes == "" || !ok || n.Shape != Scalar || len(n.Text) > d.longest() {
		return d.Value(n, path, v)
	}
	var err error
	switch {
	case takes == Length:
		*t, err = quantity(n.Text, units.ParseDelay)
	case takes != Forever:
		panic(fmt.Sprintf("yaml: %s has the unknown tag takes:%q", path, takes))
	case n.Text == Forever:
		*t = units.Never
	default:
		if *t, err = quantity(n.Text, units.ParseTime); err != nil {
			err = fmt.Errorf("%s, or %s)", strings.TrimSuffix(err.Error(), ")"), Forever)
		}
	}
	if err != nil {
		return d.Fail(n.At, path, "%w", err)
	}
	return nil
}

// Values of the tag `takes`: other notations for a time.
const (
	Length  = "length"  // length of a cable, in m or km
	Forever = "forever" // to the end of the run
)

func (d *Decoder) unknown(e Entry, path string, known []string) error {
	if path == "" {
		path = d.What
	}
	return d.Fail(e.At, path, "%w", registry.Unknown("key", e.Key, known))
}

// Take calls use for the entry with the given key and returns the other entries.
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

// keysOf maps the keys of a struct to field indexes.
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

// KeyOf returns the key of a field.
func KeyOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
		return name
	}
	return strings.ToLower(f.Name)
}

// Field returns the field of a struct that has the given key.
func Field(v reflect.Value, key string) (reflect.Value, bool) {
	i, ok := keysOf(v.Type())[key]
	if !ok {
		return reflect.Value{}, false
	}
	return v.Field(i), true
}

// Scope returns the `scope` tag of a key: where the key may be overridden.
func Scope(t reflect.Type, key string) string {
	if i, ok := keysOf(t)[key]; ok {
		return t.Field(i).Tag.Get("scope")
	}
	return ""
}

// KeysWithin returns the keys of a struct that have one of the given scopes.
func KeysWithin(t reflect.Type, scopes ...string) []string {
	return slices.DeleteFunc(KeyNames(t), func(key string) bool { return !slices.Contains(scopes, Scope(t, key)) })
}
