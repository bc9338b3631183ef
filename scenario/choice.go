package scenario

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Choose returns a scheme of a plug point with its default parameters. If the name is
// unknown, the error lists the schemes.
func Choose(kind, name string) (Choice, error) {
	s, err := findScheme(kind, name)
	if err != nil || s.Params == nil {
		return Choice{Name: s.Name}, err
	}
	return Choice{Name: name, Params: s.Params()}, nil
}

// findScheme returns a scheme of a plug point by name. Kind is the name of the plug point,
// which is also its key in scenarios.
func findScheme(kind, name string) (Scheme, error) {
	var names []string
	for _, s := range SchemesOf(kind) {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scheme{}, registry.Unknown(kind, name, names)
}

// presetter is a parameter struct with named sets of values.
type presetter interface{ ApplyPreset(name string) error }

// stated is a parameter struct in which setting one key changes the default of another.
// Stated gets every key of the scenario before values are decoded.
type stated interface{ Stated(key string) }

// choiceForm decodes a Choice: `{name: dt, alpha: 1/16}`. A struct that embeds a Choice has
// more keys in the same mapping: `{name: red, classes: [rdma], kmin: 100KB}`.
type choiceForm struct {
	*Choice
	kind      string        // plug point; empty: the key names it
	outer     reflect.Value // struct that embeds the Choice; invalid if there is none
	outerKeys []string      // keys of outer
}

// kindAt returns the plug point of a choice at a path.
func (c choiceForm) kindAt(path string) string {
	if c.kind != "" {
		return c.kind
	}
	return kindAt(path)
}

// embedded returns the form of a struct that embeds a choice.
func embedded(outer any, c *Choice, keys []string) choiceForm {
	return choiceForm{Choice: c, outer: reflect.ValueOf(outer).Elem(), outerKeys: keys}
}

// Keys of structs that embed a Choice.
var (
	ecnKeys      = []string{"classes", "at", "by_class"}
	topologyKeys = []string{"down", "overrides"}
	probeKeys    = []string{"as", "where", "from", "to"}
	routingKeys  = []string{"reroute_after", "pinned", "overrides"}
)

// DecodeKeys implements yaml.Keyed. It decodes the name first, then a preset, then the other
// keys, in whatever order they were written.
func (c choiceForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	rest := entries
	var err error
	for _, name := range c.outerKeys {
		rest, err = yaml.Take(rest, name, func(e yaml.Entry) error { return d.Fields([]yaml.Entry{e}, path, c.outer, nil) })
		if err != nil {
			return err
		}
	}
	if rest, err = c.decodeName(d, rest, path); err != nil {
		return err
	}
	keys := append([]string{"name"}, c.outerKeys...)
	if c.Name == "" {
		at := yaml.Location{}
		if d.Locations != nil {
			at = d.Locations.Find(path)
		} else if len(entries) > 0 { // in an override
			at = entries[0].At
		}
		return d.Fail(at, path, "name is missing (allowed: %s)", strings.Join(schemeNames(kindAt(path)), ", "))
	}
	if c.Params == nil {
		if len(rest) > 0 {
			key := rest[0].Key
			return d.Fail(rest[0].At, path, "%s %s has no parameter %q%s (allowed: %s)",
				c.kindAt(path), c.Name, key, registry.DidYouMean(key, keys), strings.Join(keys, ", "))
		}
		return nil
	}
	if p, ok := c.Params.(presetter); ok {
		if rest, err = decodePreset(d, rest, path, p); err != nil {
			return err
		}
	}
	if p, ok := c.Params.(stated); ok {
		for _, e := range rest {
			p.Stated(e.Key)
		}
	}
	return d.Fields(rest, path, reflect.ValueOf(c.Params).Elem(), keys)
}

// Example implements yaml.Exemplary. If word is the name of a scheme, the example uses it.
func (c choiceForm) Example(path, word string) string {
	kind := kindAt(path)
	if _, err := findScheme(kind, word); err == nil {
		return "{name: " + word + "}"
	}
	name := c.Name
	if name == "" {
		name = schemeNames(kind)[0]
	}
	if s, err := findScheme(kind, name); err == nil {
		for _, key := range s.Describe() {
			if key.Default != "" && len(key.Keys) == 0 {
				return fmt.Sprintf("{name: %s, %s: %s}", name, key.Name, key.Default)
			}
		}
	}
	return "{name: " + name + "}"
}

// decodeName decodes the name and sets Params to the defaults of that scheme.
func (c choiceForm) decodeName(d *yaml.Decoder, entries []yaml.Entry, path string) ([]yaml.Entry, error) {
	return yaml.Take(entries, "name", func(e yaml.Entry) error {
		at := yaml.Join(path, "name")
		d.Note(at, e)
		if err := d.Value(e.Value, at, reflect.ValueOf(&c.Name).Elem()); err != nil {
			return err
		}
		s, err := findScheme(c.kindAt(path), c.Name)
		if err != nil {
			return d.Fail(e.Value.At, at, "%w", err)
		}
		if c.Params != nil && d.Locations != nil {
			for _, key := range yaml.KeyNames(reflect.TypeOf(c.Params).Elem()) {
				d.Locations.Forget(yaml.Join(path, key)) // keys of the previous scheme
			}
		}
		c.Params = nil
		if s.Params != nil {
			c.Params = s.Params()
		}
		return nil
	})
}

func decodePreset(d *yaml.Decoder, entries []yaml.Entry, path string, p presetter) ([]yaml.Entry, error) {
	return yaml.Take(entries, "preset", func(e yaml.Entry) error {
		at, preset := yaml.Join(path, "preset"), ""
		d.Note(at, e)
		if err := d.Value(e.Value, at, reflect.ValueOf(&preset).Elem()); err != nil {
			return err
		}
		if err := p.ApplyPreset(preset); err != nil {
			return d.Fail(e.Value.At, at, "%w", err)
		}
		return nil
	})
}

// Part implements yaml.Keyed.
func (c choiceForm) Part(key string) (reflect.Value, bool) {
	if c.outer.IsValid() {
		if v, ok := yaml.Field(c.outer, key); ok {
			return v, true
		}
	}
	return c.Choice.part(key)
}

func (c *Choice) part(key string) (reflect.Value, bool) {
	if c.Params == nil {
		return reflect.Value{}, false
	}
	return yaml.Field(reflect.ValueOf(c.Params).Elem(), key)
}

// kindAt returns the plug point of a path: its last key. For a list item it is the key of the
// list in the singular; for a scheme of one class, the key above by_class.
func kindAt(path string) string {
	if i := strings.LastIndex(path, ".by_class."); i >= 0 {
		path = path[:i]
	}
	kind, _, inList := strings.Cut(path[strings.LastIndex(path, ".")+1:], "[")
	if inList {
		return strings.TrimSuffix(kind, "s")
	}
	return kind
}

// Wrong returns an error of a scheme's constructor as an error about path. If the message
// starts with the name of a parameter, as is the convention, the error is about that key.
func (c *Choice) Wrong(path string, err error) error {
	word, _, _ := strings.Cut(err.Error(), " ")
	key := word
	if i := strings.IndexAny(word, ".["); i >= 0 {
		key = word[:i] // links[3].rate: links
	}
	if _, ok := c.part(key); ok {
		path = yaml.Join(path, word)
	}
	return yaml.At(path, err)
}

// Detach replaces Params by a copy.
func (c *Choice) Detach() {
	if c.Params == nil {
		return
	}
	own := reflect.New(reflect.TypeOf(c.Params).Elem())
	own.Elem().Set(reflect.ValueOf(c.Params).Elem())
	c.Params = own.Interface()
}
