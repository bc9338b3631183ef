package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/xoff-net/xoff/workload"
)

// This file is how a workload is written: decoding, encoding, defaults.

// sharedKeys are the keys of a workload that are not the generator's.
var sharedKeys = []string{"load", "pairs", "from", "to", "transport", "class", "start", "stop"}

// decodeEntries reads `{name: a, generator: poisson, sizes: 64KB, load: {...}}`.
func (w *Workload) decodeEntries(d *decoder, entries []entry, path string) error {
	word := func(e entry, into *string) error {
		at := join(path, e.key)
		d.note(at, e)
		return d.value(e.node, at, reflect.ValueOf(into).Elem())
	}
	rest, err := take(entries, "name", func(e entry) error { return word(e, &w.Name) })
	if err != nil {
		return err
	}
	rest, err = take(rest, "generator", func(e entry) error {
		if err := word(e, &w.Generator); err != nil {
			return err
		}
		g, err := workload.Generators.Get(w.Generator)
		if err != nil {
			return d.fail(placeOf(e.node), join(path, e.key), "%w", err)
		}
		w.Params = g.Params()
		return nil
	})
	if err != nil {
		return err
	}
	v := reflect.ValueOf(w).Elem()
	for _, name := range sharedKeys {
		rest, err = take(rest, name, func(e entry) error { return d.fields([]entry{e}, path, v, nil) })
		if err != nil {
			return err
		}
	}
	if w.Params == nil {
		if len(rest) > 0 {
			return d.fail(rest[0].place, path, "there is no generator that knows %q; allowed: generator: %s", rest[0].key, strings.Join(workload.Generators.Names(), ", "))
		}
		return nil
	}
	return d.fields(rest, path, reflect.ValueOf(w.Params).Elem(), w.keys())
}

// keys are the shared keys that the generator reads.
func (w *Workload) keys() []string {
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

// used reports whether a generator reads a shared key.
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
	}
	return true
}

// stray returns a shared key that is set and that the generator does not read.
func (w *Workload) stray(u workload.Uses) string {
	v := reflect.ValueOf(w).Elem()
	for _, k := range sharedKeys {
		if f, ok := field(v, k); ok && !f.IsZero() && !used(u, k) {
			return k
		}
	}
	return ""
}

func (w *Workload) part(key string) (reflect.Value, bool) {
	if slices.Contains(sharedKeys, key) {
		return field(reflect.ValueOf(w).Elem(), key)
	}
	if w.Params == nil {
		return reflect.Value{}, false
	}
	return field(reflect.ValueOf(w.Params).Elem(), key)
}

// plain writes the name, the generator and its parameters, then the shared keys.
func (w Workload) plain() (any, error) {
	out := yaml.MapSlice{{Key: "name", Value: w.Name}, {Key: "generator", Value: w.Generator}}
	if w.Params != nil {
		params, err := structOf(reflect.ValueOf(w.Params).Elem())
		if err != nil {
			return nil, err
		}
		out = append(out, params...)
	}
	v := reflect.ValueOf(w)
	for _, k := range sharedKeys {
		f, _ := field(v, k)
		if f.IsZero() {
			continue
		}
		item, err := plainOf(f)
		if err != nil {
			return nil, err
		}
		out = append(out, yaml.MapItem{Key: k, Value: item})
	}
	return out, nil
}

// resolve fills in what other keys decide.
func (w *Workload) resolve(c *Config) {
	if g, ok := w.Params.(workload.Generator); ok && w.Pairs == "" {
		w.Pairs = g.Uses().Pairs
	}
	if w.Class.isZero() {
		if id, ok := c.firstDataClass(); ok {
			w.Class.Fixed = strconv.Itoa(id)
		}
	}
}

// locateFiles makes the paths of files absolute: those in a scenario are relative to
// it, and the resolved one is written elsewhere.
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
		path := filepath.FromSlash(*name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(c.source.name), path)
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return c.Locate(atf(workloadPath(i), "%w; allowed: a file that can be found", err))
		}
		*name = absolute
	}
	return nil
}

// decodeNode reads `host3` or `[rack0, host7]`.
func (s *Selection) decodeNode(d *decoder, n ast.Node, path string) error {
	if text, _, ok := scalar(n); ok && text != "" {
		*s = Selection{text}
		return nil
	}
	var list []string
	if err := d.list(n, path, reflect.ValueOf(&list).Elem()); err != nil {
		return err
	}
	*s = list
	return nil
}

func (c *ClassChoice) isZero() bool { return c.Fixed == "" && c.Random == "" && len(c.Shares) == 0 }

// decodeNode reads `3`, `rdma`, `{random: rdma}` or `{shares: {1: 0.3, 2: 0.7}}`.
func (c *ClassChoice) decodeNode(d *decoder, n ast.Node, path string) error {
	const want = "an id such as 3, a group such as rdma, {random: rdma}, or {shares: {1: 0.3, 2: 0.7}}"
	*c = ClassChoice{}
	if text, _, ok := scalar(n); ok && text != "" {
		c.Fixed = text
		return nil
	}
	if !isMapping(n) {
		return d.mismatch(n, path, want)
	}
	entries, err := d.entries(n, path)
	if err != nil {
		return err
	}
	if len(entries) != 1 || entries[0].key != "random" && entries[0].key != "shares" {
		return d.mismatch(n, path, want)
	}
	e := entries[0]
	at := join(path, e.key)
	d.note(at, e)
	if e.key == "random" {
		return d.value(e.node, at, reflect.ValueOf(&c.Random).Elem())
	}
	shares, err := d.entries(e.node, at)
	if err != nil {
		return err
	}
	for _, s := range shares {
		d.note(join(at, s.key), s)
		share := 0.0
		if err := d.value(s.node, join(at, s.key), reflect.ValueOf(&share).Elem()); err != nil {
			return err
		}
		c.Shares = append(c.Shares, ClassShare{s.key, share})
	}
	return nil
}

func (c ClassChoice) plain() any {
	switch {
	case c.Random != "":
		return yaml.MapSlice{{Key: "random", Value: c.Random}}
	case len(c.Shares) > 0:
		shares := yaml.MapSlice{}
		for _, s := range c.Shares {
			shares = append(shares, yaml.MapItem{Key: s.Class, Value: s.Share})
		}
		return yaml.MapSlice{{Key: "shares", Value: shares}}
	}
	return c.Fixed
}

// workloadError ties an error of a generator to its key.
func workloadError(path string, err error) error {
	var k *workload.KeyError
	if errors.As(err, &k) {
		return at(join(path, k.Key), k.Err)
	}
	return at(path, err)
}

// workloadPath is the path of a workload.
func workloadPath(i int) string { return fmt.Sprintf("workload[%d]", i) }
