package scenario

import (
	"reflect"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
)

// findScheme returns a scheme of a plug point by name. The keys of a scenario
// are the names of the plug points.
func findScheme(kind, name string) (Scheme, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name != kind {
			continue
		}
		for _, s := range k.Schemes {
			if s.Name == name {
				return s, nil
			}
			names = append(names, s.Name)
		}
	}
	return Scheme{}, registry.Unknown(kind, name, names)
}

// presetter is a parameter struct with named sets of values.
type presetter interface{ ApplyPreset(name string) error }

// stated is a parameter struct in which giving one key changes the default of
// another. It is told of every key before values are read.
type stated interface{ Stated(key string) }

// decodeEntries reads `{name: dt, alpha: 1/16}`.
func (c *Choice) decodeEntries(d *decoder, entries []entry, path string) error {
	return c.decode(d, entries, path, nil)
}

// decode reads a choice. The name comes first wherever it stands, then a preset,
// then the other keys. Beside are keys that the caller has read already.
func (c *Choice) decode(d *decoder, entries []entry, path string, beside []string) error {
	kind := kindAt(path)
	rest, err := take(entries, "name", func(e entry) error {
		at := join(path, "name")
		d.note(at, e)
		if err := d.value(e.node, at, reflect.ValueOf(&c.Name).Elem()); err != nil {
			return err
		}
		s, err := findScheme(kind, c.Name)
		if err != nil {
			return d.fail(placeOf(e.node), at, "%w", err)
		}
		if c.Params != nil && d.again == nil {
			for _, key := range keyNames(reflect.TypeOf(c.Params).Elem()) {
				d.src.forget(join(path, key)) // what was written for another scheme
			}
		}
		c.Params = nil
		if s.Params != nil {
			c.Params = s.Params()
		}
		return nil
	})
	if err != nil {
		return err
	}
	beside = append([]string{"name"}, beside...)
	if c.Params == nil {
		if len(rest) > 0 {
			return d.fail(rest[0].place, path, "%s %s has no parameter %q%s; allowed: %s", kind, c.Name, rest[0].key, registry.DidYouMean(rest[0].key, beside), strings.Join(beside, ", "))
		}
		return nil
	}
	if p, ok := c.Params.(presetter); ok {
		rest, err = take(rest, "preset", func(e entry) error {
			at, preset := join(path, "preset"), ""
			d.note(at, e)
			if err := d.value(e.node, at, reflect.ValueOf(&preset).Elem()); err != nil {
				return err
			}
			if err := p.ApplyPreset(preset); err != nil {
				return d.fail(placeOf(e.node), at, "%w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if p, ok := c.Params.(stated); ok {
		for _, e := range rest {
			p.Stated(e.key)
		}
	}
	return d.fields(rest, path, reflect.ValueOf(c.Params).Elem(), beside)
}

// kindAt returns the plug point of a key: its name, or that of an item of a list.
func kindAt(path string) string {
	kind, _, inList := strings.Cut(path[strings.LastIndex(path, ".")+1:], "[")
	if inList {
		return strings.TrimSuffix(kind, "s")
	}
	return kind
}

// take hands the entry of a key to use and returns the others.
func take(entries []entry, key string, use func(entry) error) ([]entry, error) {
	var rest []entry
	for _, e := range entries {
		if e.key != key {
			rest = append(rest, e)
			continue
		}
		if err := use(e); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// wrong ties an error of a scheme's constructor to its key: to that of a parameter
// when the message begins with one, as it does by custom.
func (c *Choice) wrong(path string, err error) error {
	word, _, _ := strings.Cut(err.Error(), " ")
	key := word
	if i := strings.IndexAny(word, ".["); i >= 0 {
		key = word[:i] // of a parameter with parts: links[3].rate
	}
	if c.Params != nil {
		if _, ok := keysOf(reflect.TypeOf(c.Params).Elem())[key]; ok {
			path = join(path, word)
		}
	}
	return at(path, err)
}

// Keys of choices that are not the scheme's.
var (
	ecnKeys      = []string{"classes", "at"}
	topologyKeys = []string{"down", "overrides"}
)

// decodeEntries reads `{name: red, classes: [rdma], kmin: 100KB}`.
func (e *ECN) decodeEntries(d *decoder, entries []entry, path string) error {
	return e.Choice.decodeBeside(d, entries, path, reflect.ValueOf(e).Elem(), ecnKeys)
}

// decodeEntries reads `{name: leaf-spine, leaves: 4, down: [leaf0-spine1]}`.
func (t *Topology) decodeEntries(d *decoder, entries []entry, path string) error {
	return t.Choice.decodeBeside(d, entries, path, reflect.ValueOf(t).Elem(), topologyKeys)
}

// decodeBeside reads a choice that has some keys of its own: fields of the struct
// that holds it.
func (c *Choice) decodeBeside(d *decoder, entries []entry, path string, holder reflect.Value, keys []string) error {
	rest := entries
	for _, name := range keys {
		var err error
		rest, err = take(rest, name, func(x entry) error { return d.fields([]entry{x}, path, holder, nil) })
		if err != nil {
			return err
		}
	}
	return c.decode(d, rest, path, keys)
}

// part returns what a key of a choice stands for, so that a path can lead into it.
func (c *Choice) part(key string) (reflect.Value, bool) {
	if c.Params == nil {
		return reflect.Value{}, false
	}
	return field(reflect.ValueOf(c.Params).Elem(), key)
}

func (e *ECN) part(key string) (reflect.Value, bool) {
	if v, ok := field(reflect.ValueOf(e).Elem(), key); ok {
		return v, true
	}
	return e.Choice.part(key)
}

func (t *Topology) part(key string) (reflect.Value, bool) {
	if v, ok := field(reflect.ValueOf(t).Elem(), key); ok {
		return v, true
	}
	return t.Choice.part(key)
}

// field returns the field of a struct that a key stands for.
func field(v reflect.Value, key string) (reflect.Value, bool) {
	i, ok := keysOf(v.Type())[key]
	if !ok {
		return reflect.Value{}, false
	}
	return v.Field(i), true
}
