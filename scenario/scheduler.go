package scenario

import (
	"reflect"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scheme/sched"
)

var schedulerKeys = []string{"strict", "groups"}

// schedulerForm decodes a Scheduler: `{name: dwrr, strict: [control], quantum: 1600B}`. The
// older notation selects it by a list of groups: `dwrr: [rdma]` or `rr: [rdma]`.
type schedulerForm struct {
	choiceForm
	s *Scheduler
}

// namedLists are the keys of the older notation.
var namedLists = []string{"dwrr", "rr"}

// DecodeKeys implements yaml.Keyed.
func (f schedulerForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	given := func(key string) bool {
		return slices.ContainsFunc(entries, func(e yaml.Entry) bool { return e.Key == key })
	}
	var list *yaml.Entry
	rest := slices.Clone(entries)
	for _, name := range namedLists {
		var err error
		rest, err = yaml.Take(rest, name, func(e yaml.Entry) error {
			switch {
			case e.Value.Shape != yaml.List:
				return d.Mismatch(e.Value, yaml.Join(path, name), "a list")
			case len(e.Value.Items) == 0:
				return nil
			case list != nil:
				return d.Fail(e.At, yaml.Join(path, name), "%s and %s are both set (expected one of them)", list.Key, name)
			}
			list = &e
			return nil
		})
		if err != nil {
			return err
		}
	}
	if list != nil {
		word := &yaml.Node{Shape: yaml.Scalar, Text: list.Key, At: list.At}
		if !given("name") {
			rest = append(rest, yaml.Entry{Key: "name", At: list.At, Value: word})
		}
		rest = append(rest, yaml.Entry{Key: "groups", At: list.At, Value: list.Value})
	}
	was := f.s.idle
	f.s.idle = nil
	// A setting may extend the older notation.
	if older := list != nil && list.Key == "rr" || list == nil && was != nil && f.s.Name == "rr"; older && !given("name") {
		var err error
		if rest, err = f.decodeIdle(d, rest, path, was); err != nil {
			return err
		}
	}
	groups := list != nil || given("groups")
	if given("strict") && !groups {
		f.s.Groups = nil // back to the default: all others
	}
	if err := f.choiceForm.DecodeKeys(d, rest, path); err != nil {
		return err
	}
	if groups && !given("strict") {
		f.s.Strict = slices.DeleteFunc(slices.Clone(f.s.Strict), func(g string) bool { return slices.Contains(f.s.Groups, g) })
	}
	return nil
}

// decodeIdle decodes the keys of dwrr that the older notation accepts with rr. They have no
// effect.
func (f schedulerForm) decodeIdle(d *yaml.Decoder, entries []yaml.Entry, path string, was *units.Bytes) ([]yaml.Entry, error) {
	idle := sched.DefaultQuantum
	if was != nil {
		idle = *was
	}
	f.s.idle = &idle
	rest, err := yaml.Take(entries, "quantum", func(e yaml.Entry) error {
		return d.Value(e.Value, yaml.Join(path, e.Key), reflect.ValueOf(&idle).Elem())
	})
	if err != nil {
		return nil, err
	}
	return yaml.Take(rest, "quanta", func(e yaml.Entry) error {
		keys, err := d.Entries(e.Value, yaml.Join(path, e.Key))
		if err != nil || len(keys) == 0 {
			return err
		}
		return d.Fail(keys[0].At, yaml.Join(path, e.Key), "class %s is served by rr (expected quanta only with dwrr)", keys[0].Key)
	})
}

// Served returns the groups that the scheduler serves: the listed ones, or all that are not
// strict.
func (s *Scheduler) Served(c *Config) []string {
	if len(s.Groups) > 0 {
		return s.Groups
	}
	return slices.DeleteFunc(c.GroupNames(), func(g string) bool { return slices.Contains(s.Strict, g) })
}
