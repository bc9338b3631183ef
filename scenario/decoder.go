package scenario

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// decoder fills Go values from YAML nodes, overriding what they hold. It is our
// own rather than the library's so that every message has a place, says what is
// allowed, and reads alike.
type decoder struct {
	src    *source
	set    string  // the --set that is decoded; empty: the file
	strict *strict // another file than a scenario; nil: a scenario
	// again holds the places of keys that are read a second time (see patcher).
	again []place
}

// entry is one key of a mapping with its value.
type entry struct {
	key   string
	place place // of the key
	node  ast.Node
}

// selfDecoder is a type that reads the keys of its mapping itself.
type selfDecoder interface {
	decodeEntries(d *decoder, entries []entry, path string) error
	// part returns what one of the keys stands for.
	part(key string) (reflect.Value, bool)
}

// nodeDecoder is a type with a notation of its own.
type nodeDecoder interface {
	decodeNode(d *decoder, n ast.Node, path string) error
}

func (d *decoder) fail(p place, path, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if path != "" {
		err = at(path, err)
	}
	if p.line < 0 {
		p = d.again[-p.line]
	} else {
		p.from = d.set
	}
	return d.src.errorAt(p, err)
}

// placeOf returns where a node begins.
func placeOf(n ast.Node) place {
	if n == nil {
		return place{line: 1, column: 1}
	}
	if e := asMapping(n); len(e) > 0 {
		n = e[0].Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return place{line: t.Position.Line, column: t.Position.Column}
	}
	return place{line: 1, column: 1}
}

// asMapping returns the pairs of a mapping.
func asMapping(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// scalar returns the text of a plain value and whether it was quoted.
func scalar(n ast.Node) (text string, quoted, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		t := n.GetToken()
		return n.Value, t != nil && (t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType), true
	case *ast.LiteralNode:
		return n.Value.Value, true, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		if t := n.GetToken(); t != nil {
			return t.Value, false, true
		}
	}
	return "", false, false
}

// entries reads the keys of a mapping and notes where they are.
func (d *decoder) entries(n ast.Node, path string) ([]entry, error) {
	if !isMapping(n) {
		return nil, d.mismatch(n, path, "keys with values")
	}
	var list []entry
	seen := make(map[string]bool)
	for _, pair := range asMapping(n) {
		at := placeOf(pair.Key)
		name, _, ok := scalar(pair.Key)
		if !ok || len(name) > maxWord {
			return nil, d.fail(at, path, "this is not a key; allowed: plain words")
		}
		if seen[name] {
			return nil, d.fail(at, path, "key %q is given twice; allowed: once", name)
		}
		seen[name] = true
		list = append(list, entry{name, at, pair.Value})
	}
	return list, nil
}

// note remembers the place of a key: of its value when that is a plain one.
func (d *decoder) note(path string, e entry) {
	if d.again != nil {
		return
	}
	p := e.place
	if _, _, ok := scalar(e.node); ok {
		p = placeOf(e.node)
	}
	p.from = d.set
	d.src.places[path] = p
	e.place.from = d.set
	d.src.keys[path] = e.place
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// mismatch says that a value is of the wrong shape.
func (d *decoder) mismatch(n ast.Node, path, want string) error {
	what := "this does not fit here"
	switch n.(type) {
	case *ast.NullNode:
		what = "there is no value"
	case *ast.SequenceNode:
		what = "a list does not fit here"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode, *ast.TagNode:
		what = "YAML anchors, aliases and tags are not used"
	default:
		if text, _, ok := scalar(n); ok {
			what = strconv.Quote(text) + " does not fit here"
		} else if isMapping(n) {
			what = "a mapping does not fit here"
		}
	}
	if path == "" {
		path = d.strict.what()
	}
	return d.fail(placeOf(n), path, "%s; allowed: %s", what, want)
}

// maxWord bounds keys and values, and with them the messages that repeat them.
const maxWord = 500

// value decodes a node into v.
func (d *decoder) value(n ast.Node, path string, v reflect.Value) error {
	if text, _, ok := scalar(n); ok && len(text) > d.strict.longest() {
		return d.fail(placeOf(n), path, "the value has %d characters; allowed: at most %d", len(text), d.strict.longest())
	}
	switch t := v.Addr().Interface().(type) {
	case nodeDecoder:
		return t.decodeNode(d, n, path)
	case selfDecoder:
		entries, err := d.entries(n, path)
		if err != nil {
			return err
		}
		return t.decodeEntries(d, entries, path)
	case *units.Time, *units.Bytes, *units.Rate, encoding.TextUnmarshaler:
		return d.text(n, path, t)
	}
	switch v.Kind() {
	case reflect.Struct:
		entries, err := d.entries(n, path)
		if err != nil {
			return err
		}
		return d.fields(entries, path, v, nil)
	case reflect.Slice:
		return d.list(n, path, v)
	case reflect.Map:
		return d.mapping(n, path, v)
	default:
		return d.plain(n, path, v)
	}
}

// text decodes a quantity.
func (d *decoder) text(n ast.Node, path string, into any) error {
	s, _, ok := scalar(n)
	if !ok {
		return d.mismatch(n, path, "one value, such as "+exampleOf(into))
	}
	var err error
	switch into := into.(type) {
	case *units.Time:
		*into, err = quantity(s, units.ParseTime)
	case *units.Bytes:
		*into, err = quantity(s, units.ParseBytes)
	case *units.Rate:
		*into, err = quantity(s, units.ParseRate)
	case encoding.TextUnmarshaler:
		err = into.UnmarshalText([]byte(s))
	}
	if err != nil {
		return d.fail(placeOf(n), path, "%w", err)
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
func (d *decoder) plain(n ast.Node, path string, v reflect.Value) error {
	s, quoted, ok := scalar(n)
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
		if i, err := strconv.ParseInt(s, 10, 64); ok && !quoted && err == nil {
			v.SetInt(i)
			return nil
		}
	case reflect.Uint64:
		want = "a whole number, 0 or more"
		if i, err := strconv.ParseUint(s, 10, 64); ok && !quoted && err == nil {
			v.SetUint(i)
			return nil
		}
	case reflect.Float64:
		want = "a number"
		if f, err := strconv.ParseFloat(s, 64); ok && !quoted && err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			v.SetFloat(f)
			return nil
		}
	case reflect.Bool:
		want = "true, false"
		if ok && !quoted && (s == "true" || s == "false") {
			v.SetBool(s == "true")
			return nil
		}
	default:
		panic(fmt.Sprintf("scenario: %s is a %s, which no file can hold", path, v.Type()))
	}
	return d.mismatch(n, path, want)
}

// list decodes a sequence; it replaces what was there.
func (d *decoder) list(n ast.Node, path string, v reflect.Value) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.mismatch(n, path, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	if len(seq.Values) == 0 {
		v.SetZero()
	}
	for i, item := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.note(at, entry{place: placeOf(item), node: item})
		if err := d.value(item, at, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// mapping decodes a map; it replaces what was there.
func (d *decoder) mapping(n ast.Node, path string, v reflect.Value) error {
	entries, err := d.entries(n, path)
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range entries {
		k := reflect.New(v.Type().Key()).Elem()
		if k.Kind() == reflect.Int {
			i, err := strconv.Atoi(e.key)
			if err != nil {
				return d.fail(e.place, path, "%q is not a number; allowed: ids of classes", e.key)
			}
			k.SetInt(int64(i))
		} else {
			k.SetString(e.key)
		}
		at := join(path, e.key)
		d.note(at, e)
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(e.node, at, item); err != nil {
			return err
		}
		v.SetMapIndex(k, item)
	}
	return nil
}

// fields decodes entries into the fields of a struct. More are keys that stand
// beside them and are the caller's business.
func (d *decoder) fields(entries []entry, path string, v reflect.Value, more []string) error {
	known := keysOf(v.Type())
	for _, e := range entries {
		i, ok := known[e.key]
		if !ok {
			return d.unknown(e, path, slices.Concat(more, keyNames(v.Type())))
		}
		at := join(path, e.key)
		d.note(at, e)
		if err := d.value(e.node, at, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// keysOf returns the field of each key of a struct.
func keysOf(t reflect.Type) map[string]int {
	keys := make(map[string]int)
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !f.Anonymous {
			keys[keyOf(f)] = i
		}
	}
	return keys
}

// keyNames returns the keys of a struct in the order of its fields.
func keyNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !f.Anonymous {
			names = append(names, keyOf(f))
		}
	}
	return names
}

func keyOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
		return name
	}
	return strings.ToLower(f.Name)
}

func (d *decoder) unknown(e entry, path string, known []string) error {
	if path == "" {
		path = d.strict.what()
	}
	return d.fail(e.place, path, "%w", registry.Unknown("key", e.key, known))
}

// isText reports whether a value is written as one word, whatever it is made of.
func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// assign decodes a node into the part of v that a path leads to.
func (d *decoder) assign(v reflect.Value, path string, steps []step, n ast.Node) error {
	if len(steps) == 0 {
		d.src.places[path] = place{from: d.set}
		return d.value(n, path, v)
	}
	s := steps[0]
	if s.index >= 0 {
		if v.Kind() != reflect.Slice || s.index >= v.Len() {
			return d.fail(place{}, path, "there is no item %d; allowed: the items of a list, from 0", s.index)
		}
		return d.assign(v.Index(s.index), fmt.Sprintf("%s[%d]", path, s.index), steps[1:], n)
	}
	e := entry{key: s.key, node: n}
	self, ok := v.Addr().Interface().(selfDecoder)
	switch {
	case ok:
		if v, known := self.part(s.key); known && len(steps) > 1 {
			return d.assign(v, join(path, s.key), steps[1:], n)
		}
		if e.node, ok = nest(steps[1:], n); !ok {
			return d.fail(place{}, path, "a list below %s is set as a whole; allowed: keys joined by dots", s.key)
		}
		return self.decodeEntries(d, []entry{e}, path) // says what is allowed
	case v.Kind() == reflect.Slice:
		if k := itemNamed(v, s.key); k >= 0 {
			return d.assign(v.Index(k), fmt.Sprintf("%s[%d]", path, k), steps[1:], n)
		}
		return d.noItem(v, path, s.key)
	case v.Kind() == reflect.Struct && !isText(v):
		i, known := keysOf(v.Type())[s.key]
		if !known {
			return d.unknown(e, path, keyNames(v.Type()))
		}
		return d.assign(v.Field(i), join(path, s.key), steps[1:], n)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		item := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(reflect.ValueOf(s.key)); old.IsValid() {
			item.Set(old)
		}
		if err := d.assign(item, join(path, s.key), steps[1:], n); err != nil {
			return err
		}
		d.src.places[path] = place{from: d.set}
		v.SetMapIndex(reflect.ValueOf(s.key), item)
		return nil
	}
	return d.fail(place{}, path, "has no keys of its own, so no %q; allowed: one value", s.key)
}

// noItem says that a list has no item of a name.
func (d *decoder) noItem(v reflect.Value, path, name string) error {
	var names []string
	for i := range v.Len() {
		if item := v.Index(i); item.Kind() == reflect.Struct {
			if f := item.FieldByName("Name"); f.IsValid() && f.Kind() == reflect.String {
				names = append(names, f.String())
			}
		}
	}
	if names == nil {
		return d.fail(place{}, path, "there is no item called %q; allowed: the number of an item, as in %s[0]", name, path)
	}
	return d.fail(place{}, path, "%w", registry.Unknown("item", name, append(names, path+"[0]")))
}

// nest puts a node below keys: b and c make {b: {c: node}} of it.
func nest(steps []step, n ast.Node) (ast.Node, bool) {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].index >= 0 {
			return nil, false
		}
		position := func() *token.Position { return &token.Position{} }
		key := ast.String(&token.Token{Type: token.StringType, Value: steps[i].key, Position: position()})
		n = ast.MappingValue(&token.Token{Type: token.MappingValueType, Value: ":", Position: position()}, key, n)
	}
	return n, true
}
