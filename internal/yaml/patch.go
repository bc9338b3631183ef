package yaml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	goccy "github.com/goccy/go-yaml"
)

// Patch is a part of a document that is decoded later, when the value that it changes is
// known. It keeps keys and values as written, with their locations.
type Patch struct{ keys []Entry }

// NewPatch returns a patch from alternating keys and values. A value is a Patch, a number, a
// boolean, or anything that fmt prints as a word.
func NewPatch(keysAndValues ...any) Patch {
	var p Patch
	for i := 0; i < len(keysAndValues); i += 2 {
		n := &Node{Shape: Scalar, Text: fmt.Sprint(keysAndValues[i+1])}
		switch v := keysAndValues[i+1].(type) {
		case Patch:
			n = &Node{Shape: Mapping, Keys: v.keys}
		case int, float64, bool:
			n.Literal = true
		}
		p.keys = append(p.keys, Entry{Key: keysAndValues[i].(string), Value: n})
	}
	return p
}

// Add adds a key. A mapping is merged with the present one, any other value replaces it.
// Copies of the patch are not affected.
func (p *Patch) Add(d *Decoder, e Entry, path string) error {
	if err := d.checkTree(e.Value, Join(path, e.Key)); err != nil {
		return err
	}
	d.noteTree(e, path)
	p.keys = merge(p.keys, e)
	return nil
}

// checkTree rejects nodes that a patch cannot contain.
func (d *Decoder) checkTree(n *Node, path string) error {
	switch n.Shape {
	case Scalar:
		if len(n.Text) > MaxWord {
			return d.Fail(n.At, path, "the value has %d characters (expected at most %d)", len(n.Text), MaxWord)
		}
	case Mapping:
		entries, err := d.Entries(n, path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := d.checkTree(e.Value, Join(path, e.Key)); err != nil {
				return err
			}
		}
	case List:
		for i, item := range n.Items {
			if err := d.checkTree(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	default:
		return d.Mismatch(n, path, "a value, a list, or keys with values")
	}
	return nil
}

// noteTree records the locations of a key and of everything below it.
func (d *Decoder) noteTree(e Entry, path string) {
	at := Join(path, e.Key)
	d.Note(at, e)
	d.noteBelow(e.Value, at)
}

func (d *Decoder) noteBelow(n *Node, path string) {
	for _, e := range n.Keys {
		d.noteTree(e, path)
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.noteItem(at, item)
		d.noteBelow(item, at)
	}
}

// merge returns list with e added, merged with the entry of the same key if there is one.
func merge(list []Entry, e Entry) []Entry {
	i := slices.IndexFunc(list, func(o Entry) bool { return o.Key == e.Key })
	if i < 0 {
		return append(slices.Clip(list), e)
	}
	if old := list[i].Value; old.Shape == Mapping && e.Value.Shape == Mapping {
		below := old.Keys
		for _, k := range e.Value.Keys {
			below = merge(below, k)
		}
		e.Value = &Node{Shape: Mapping, Keys: below, At: e.Value.At}
	}
	list = slices.Clone(list)
	list[i] = e
	return list
}

// Keys returns the names of the keys, in order.
func (p Patch) Keys() []string {
	var names []string
	for _, e := range p.keys {
		names = append(names, e.Key)
	}
	return names
}

// Has reports whether the patch has a value at a path.
func (p Patch) Has(steps ...Step) bool {
	n := &Node{Shape: Mapping, Keys: p.keys}
	for _, s := range steps {
		switch {
		case s.Index < 0 && n.Shape == Mapping:
			i := slices.IndexFunc(n.Keys, func(e Entry) bool { return e.Key == s.Key })
			if i < 0 {
				return false
			}
			n = n.Keys[i].Value
		case s.Index >= 0 && n.Shape == List && s.Index < len(n.Items):
			n = n.Items[s.Index]
		default:
			return false
		}
	}
	return true
}

// Text returns the value at a path of keys, formatted in one line.
func (p Patch) Text(keys ...string) (string, bool) {
	n := &Node{Shape: Mapping, Keys: p.keys}
	for _, key := range keys {
		i := slices.IndexFunc(n.Keys, func(e Entry) bool { return e.Key == key })
		if i < 0 {
			return "", false
		}
		n = n.Keys[i].Value
	}
	return text(n), true
}

// Set returns a copy of the patch with a word at a path of keys. If a plain value or a list
// is on the path, it returns the patch unchanged.
func (p Patch) Set(word string, keys ...string) Patch {
	for depth := 1; depth < len(keys); depth++ {
		if steps := Steps(keys[:depth]...); p.Has(steps...) && !p.mapping(steps) {
			return p
		}
	}
	n, _ := nest(Steps(keys[1:]...), &Node{Shape: Scalar, Text: word})
	return Patch{merge(p.keys, Entry{Key: keys[0], Value: n})}
}

// mapping reports whether the value at a path is a mapping.
func (p Patch) mapping(steps []Step) bool {
	n := &Node{Shape: Mapping, Keys: p.keys}
	for _, s := range steps {
		i := slices.IndexFunc(n.Keys, func(e Entry) bool { return e.Key == s.Key })
		if i < 0 {
			return false
		}
		n = n.Keys[i].Value
	}
	return n.Shape == Mapping
}

// Without returns a copy of the patch with the value at a path removed. If the path leads
// through a list, it returns the patch unchanged.
func (p Patch) Without(steps []Step) Patch {
	if len(steps) == 0 {
		return Patch{}
	}
	return Patch{without(p.keys, steps)}
}

func without(list []Entry, steps []Step) []Entry {
	i := slices.IndexFunc(list, func(e Entry) bool { return e.Key == steps[0].Key })
	if i < 0 {
		return list
	}
	list = slices.Clone(list)
	if len(steps) == 1 {
		return slices.Delete(list, i, i+1)
	}
	if n := list[i].Value; n.Shape == Mapping {
		list[i].Value = &Node{Shape: Mapping, Keys: without(n.Keys, steps[1:]), At: n.At}
	}
	return list
}

// Apply decodes the patch into a struct and overrides the fields that it names. Path is where
// the patch was written, for messages.
func (p Patch) Apply(d *Decoder, path string, into reflect.Value) error {
	quiet := *d
	quiet.Locations = nil // they are recorded already
	return quiet.Fields(p.keys, path, into, nil)
}

// ApplyKeyed is Apply for a Keyed.
func (p Patch) ApplyKeyed(d *Decoder, path string, into Keyed) error {
	quiet := *d
	quiet.Locations = nil // they are recorded already
	return into.DecodeKeys(&quiet, p.keys, path)
}

// String returns the patch formatted in one line.
func (p Patch) String() string { return text(&Node{Shape: Mapping, Keys: p.keys}) }

func text(n *Node) string {
	var parts []string
	switch n.Shape {
	case Mapping:
		for _, e := range n.Keys {
			parts = append(parts, e.Key+": "+text(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case List:
		for _, item := range n.Items {
			parts = append(parts, text(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return n.Text
}

// Plain returns the patch in the form that the YAML library encodes.
func (p Patch) Plain() goccy.MapSlice { return plainKeys(p.keys) }

func plainKeys(list []Entry) goccy.MapSlice {
	out := goccy.MapSlice{}
	for _, e := range list {
		out = append(out, goccy.MapItem{Key: e.Key, Value: plainNode(e.Value)})
	}
	return out
}

func plainNode(n *Node) any {
	switch n.Shape {
	case Mapping:
		return plainKeys(n.Keys)
	case List:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = plainNode(item)
		}
		return items
	}
	if n.Literal {
		return bare(n.Text)
	}
	return n.Text
}

// bare is a number or a boolean as it was written.
type bare string

// MarshalYAML writes the value without quotes.
func (b bare) MarshalYAML() ([]byte, error) { return []byte(b), nil }
