package scenario

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	goccy "github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/workload"
)

// sharedKeys are the keys of a workload that do not depend on the generator. A generator may
// not use all of them.
var sharedKeys = []string{"load", "pairs", "from", "to", "transport", "class", "start", "stop", "clock"}

// workloadForm decodes a Workload:
// `{name: a, generator: poisson, sizes: 64KB, load: {...}}`.
type workloadForm struct{ *Workload }

// DecodeKeys implements yaml.Keyed.
func (w workloadForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	decodeText := func(e yaml.Entry, into *string) error {
		at := yaml.Join(path, e.Key)
		d.Note(at, e)
		return d.Value(e.Value, at, reflect.ValueOf(into).Elem())
	}
	rest, err := yaml.Take(entries, "name", func(e yaml.Entry) error { return decodeText(e, &w.Name) })
	if err != nil {
		return err
	}
	previous := w.Generator
	rest, err = yaml.Take(rest, "generator", func(e yaml.Entry) error {
		if err := decodeText(e, &w.Generator); err != nil {
			return err
		}
		g, err := workload.Generators.Get(w.Generator)
		if err != nil {
			return d.Fail(e.Value.At, yaml.Join(path, e.Key), "%w", err)
		}
		if w.Generator != previous || w.Params == nil { // selecting the current generator keeps its parameters
			w.Params = g.Params()
		}
		return nil
	})
	if err != nil {
		return err
	}
	v := reflect.ValueOf(w.Workload).Elem()
	for _, name := range sharedKeys {
		rest, err = yaml.Take(rest, name, func(e yaml.Entry) error { return d.Fields([]yaml.Entry{e}, path, v, nil) })
		if err != nil {
			return err
		}
	}
	if w.Params == nil {
		if len(rest) > 0 {
			return d.Fail(rest[0].At, path, "unknown key %q without a generator; fix: set generator (allowed: %s)", rest[0].Key,
				strings.Join(workload.Generators.Names(), ", "))
		}
		return nil
	}
	return d.Fields(rest, path, reflect.ValueOf(w.Params).Elem(), w.UsedKeys())
}

// Part implements yaml.Keyed.
func (w workloadForm) Part(key string) (reflect.Value, bool) {
	if slices.Contains(sharedKeys, key) {
		return yaml.Field(reflect.ValueOf(w.Workload).Elem(), key)
	}
	if w.Params == nil {
		return reflect.Value{}, false
	}
	return yaml.Field(reflect.ValueOf(w.Params).Elem(), key)
}

// Example implements yaml.Exemplary.
func (workloadForm) Example(string, string) string {
	return "{name: mine, generator: poisson, sizes: 64KB, load: {share: 0.5, of: host_links}}"
}

// UsedKeys returns the keys of the workload that its generator uses, without its parameters.
func (w *Workload) UsedKeys() []string {
	keys := []string{"name", "generator"}
	g, ok := w.Params.(workload.Generator)
	if !ok {
		return keys
	}
	for _, k := range sharedKeys {
		if used(g.Uses(), k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// used reports whether a generator uses a shared key.
func used(u workload.Uses, key string) bool {
	switch key {
	case "load":
		return u.Load
	case "from":
		return u.From
	case "pairs", "to":
		return u.Pairs != ""
	case "start":
		return u.Start
	case "stop":
		return u.Stop
	case "clock":
		return u.Clock
	}
	return true
}

// UnusedKey returns the first shared key that is set but not used by the generator, or "".
func (w *Workload) UnusedKey(u workload.Uses) string {
	v := reflect.ValueOf(w).Elem()
	for _, k := range sharedKeys {
		if f, ok := yaml.Field(v, k); ok && !f.IsZero() && !used(u, k) {
			return k
		}
	}
	return ""
}

// resolve fills in the defaults that depend on other keys.
func (w *Workload) resolve(c *Config) {
	if g, ok := w.Params.(workload.Generator); ok && w.Pairs == "" {
		w.Pairs = g.Uses().Pairs
	}
	if w.Class.isZero() {
		if id, ok := c.FirstDataClass(); ok {
			w.Class.Fixed = strconv.Itoa(id)
		}
	}
}

// locateFiles makes the paths of input files absolute. In a scenario file they are relative to
// its folder.
func (c *Config) locateFiles() error {
	for i := range c.Workload {
		user, ok := c.Workload[i].Params.(workload.FileUser)
		if !ok {
			continue
		}
		name := user.File()
		if name == nil || *name == "" {
			continue
		}
		if err := c.sandbox.check(*name); err != nil {
			return c.Locate(yaml.At(workloadPath(i), err))
		}
		path := filepath.FromSlash(*name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(c.locations.Source().Name), path)
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return c.Locate(yaml.Atf(workloadPath(i), "%w (expected the path of a file)", err))
		}
		*name = absolute
	}
	return nil
}

// selectionForm decodes a Selection: `host3` or `[rack0, host7]`.
type selectionForm struct{ *Selection }

// Decode implements yaml.Form.
func (s selectionForm) Decode(d *yaml.Decoder, n *yaml.Node, path string) error {
	if n.Shape == yaml.Scalar && n.Text != "" {
		*s.Selection = Selection{n.Text}
		return nil
	}
	var list []string
	if err := d.List(n, path, reflect.ValueOf(&list).Elem()); err != nil {
		return err
	}
	*s.Selection = list
	return nil
}

func (c *ClassChoice) isZero() bool { return c.Fixed == "" && c.Random == "" && len(c.Shares) == 0 }

// classForm decodes a ClassChoice: `3`, `rdma`, `{random: rdma}` or
// `{shares: {1: 0.3, 2: 0.7}}`.
type classForm struct{ *ClassChoice }

// Decode implements yaml.Form.
func (c classForm) Decode(d *yaml.Decoder, n *yaml.Node, path string) error {
	const want = "an id such as 3, a group such as rdma, {random: rdma}, or {shares: {1: 0.3, 2: 0.7}}"
	*c.ClassChoice = ClassChoice{}
	if n.Shape == yaml.Scalar && n.Text != "" {
		c.Fixed = n.Text
		return nil
	}
	if n.Shape != yaml.Mapping {
		return d.Mismatch(n, path, want)
	}
	entries, err := d.Entries(n, path)
	if err != nil {
		return err
	}
	if len(entries) != 1 || entries[0].Key != "random" && entries[0].Key != "shares" {
		return d.Mismatch(n, path, want)
	}
	e := entries[0]
	at := yaml.Join(path, e.Key)
	d.Note(at, e)
	if e.Key == "random" {
		return d.Value(e.Value, at, reflect.ValueOf(&c.Random).Elem())
	}
	shares, err := d.Entries(e.Value, at)
	if err != nil {
		return err
	}
	for _, s := range shares {
		d.Note(yaml.Join(at, s.Key), s)
		share := 0.0
		if err := d.Value(s.Value, yaml.Join(at, s.Key), reflect.ValueOf(&share).Elem()); err != nil {
			return err
		}
		c.Shares = append(c.Shares, ClassShare{s.Key, share})
	}
	return nil
}

// plain returns the choice as it is written in YAML.
func (c ClassChoice) plain() any {
	switch {
	case c.Random != "":
		return goccy.MapSlice{{Key: "random", Value: c.Random}}
	case len(c.Shares) > 0:
		shares := goccy.MapSlice{}
		for _, s := range c.Shares {
			shares = append(shares, goccy.MapItem{Key: s.Class, Value: s.Share})
		}
		return goccy.MapSlice{{Key: "shares", Value: shares}}
	}
	return c.Fixed
}

// workloadPath returns the key path of a workload, such as workload[0].
func workloadPath(i int) string { return fmt.Sprintf("workload[%d]", i) }
