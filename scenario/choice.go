package scenario

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Choose returns a scheme of a plug point with its default parameters. The
// error lists what there is.
func Choose(kind, name string) (Choice, error) {
	s, err := findScheme(kind, name)
	if err != nil || s.Params == nil {
		return Choice{Name: s.Name}, err
	}
	return Choice{Name: name, Params: s.Params()}, nil
}

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

// choiceForm is how a Choice is written: `{name: dt, alpha: 1/16}`. A struct that
// holds one has keys of its own beside it: `{name: red, classes: [rdma], kmin: 100KB}`.
type choiceForm struct {
	*Choice
	kind   string        // plug point; empty: that of the key
	holder reflect.Value // not valid: there is none
	beside []string      // its keys
}

// kindAt returns the plug point of a choice that is written at a path.
func (c choiceForm) kindAt(path string) string {
	if c.kind != "" {
		return c.kind
	}
	return kindAt(path)
}

// holding returns the form of a struct that holds a choice.
func holding(holder any, c *Choice, beside []string) choiceForm {
	return choiceForm{Choice: c, holder: reflect.ValueOf(holder).Elem(), beside: beside}
}

// Keys of choices that are not the scheme's.
var (
	ecnKeys      = []string{"classes", "at", "by_class"}
	topologyKeys = []string{"down", "overrides"}
	probeKeys    = []string{"as", "where", "from", "to"}
	routingKeys  = []string{"reroute_after", "pinned", "overrides"}
)

// DecodeKeys implements yaml.Keyed. The name comes first wherever it stands, then
// a preset, then the other keys.
func (c choiceForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	rest := entries
	var err error
	for _, name := range c.beside {
		rest, err = yaml.Take(rest, name, func(e yaml.Entry) error { return d.Fields([]yaml.Entry{e}, path, c.holder, nil) })
		if err != nil {
			return err
		}
	}
	if rest, err = c.decodeName(d, rest, path); err != nil {
		return err
	}
	beside := append([]string{"name"}, c.beside...)
	if c.Name == "" {
		at := yaml.Place{}
		if d.Places != nil {
			at = d.Places.Find(path)
		} else if len(entries) > 0 { // in an override
			at = entries[0].At
		}
		return d.Fail(at, path, "there is no name; allowed: %s", strings.Join(schemeNames(kindAt(path)), ", "))
	}
	if c.Params == nil {
		if len(rest) > 0 {
			key := rest[0].Key
			return d.Fail(rest[0].At, path, "%s %s has no parameter %q%s; allowed: %s",
				c.kindAt(path), c.Name, key, registry.DidYouMean(key, beside), strings.Join(beside, ", "))
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
	return d.Fields(rest, path, reflect.ValueOf(c.Params).Elem(), beside)
}

// Example implements yaml.Exemplary. Who writes the name of a scheme alone gets to
// see where it belongs.
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

// decodeName reads the name, which decides what the parameters are.
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
		if c.Params != nil && d.Places != nil {
			for _, key := range yaml.KeyNames(reflect.TypeOf(c.Params).Elem()) {
				d.Places.Forget(yaml.Join(path, key)) // what was written for another scheme
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
	if c.holder.IsValid() {
		if v, ok := yaml.Field(c.holder, key); ok {
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

// kindAt returns the plug point of a key: its name, that of an item of a list, or, where
// classes have schemes of their own, that of the key which lists them.
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

// Wrong ties an error of a scheme's constructor to its key below path: to that of a
// parameter when the message begins with one, as it does by custom.
func (c *Choice) Wrong(path string, err error) error {
	word, _, _ := strings.Cut(err.Error(), " ")
	key := word
	if i := strings.IndexAny(word, ".["); i >= 0 {
		key = word[:i] // of a parameter with parts: links[3].rate
	}
	if _, ok := c.part(key); ok {
		path = yaml.Join(path, word)
	}
	return yaml.At(path, err)
}

// Detach gives a choice parameters of its own.
func (c *Choice) Detach() {
	if c.Params == nil {
		return
	}
	own := reflect.New(reflect.TypeOf(c.Params).Elem())
	own.Elem().Set(reflect.ValueOf(c.Params).Elem())
	c.Params = own.Interface()
}
