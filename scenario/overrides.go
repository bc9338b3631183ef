package scenario

import (
	"reflect"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/topo"
)

// Patch is a part of a scenario that is not decoded yet, because its meaning depends on the
// value that it changes: `policy: {alpha: 1/4}` changes a parameter of the present policy.
type Patch = yaml.Patch

// NewPatch returns a patch from alternating keys and values. A value is a Patch, a number, a
// boolean, or anything that fmt prints as a word.
func NewPatch(keysAndValues ...any) Patch { return yaml.NewPatch(keysAndValues...) }

// addAll adds keys to a patch.
func addAll(d *yaml.Decoder, p *Patch, entries []yaml.Entry, path string) error {
	for _, e := range entries {
		if err := p.Add(d, e, path); err != nil {
			return err
		}
	}
	return nil
}

// Override changes keys of the switches, ports or hosts that its pattern matches.
type Override struct {
	Match string // glob, see topo.Match
	Keys  Patch
}

// OnPort reports whether the pattern matches ports: SWITCH.portN or SWITCH.to-NODE.
func (o *Override) OnPort() bool { return topo.OfPorts(o.Match) }

// Matches reports whether the pattern matches a name.
func (o *Override) Matches(name string) bool { return topo.Match(o.Match, name) }

// overrideForm decodes an Override: `{match: "leaf*", buffer: {size: 32MiB}}`.
type overrideForm struct{ *Override }

// DecodeKeys implements yaml.Keyed.
func (o overrideForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	rest, err := yaml.Take(entries, "match", func(e yaml.Entry) error {
		at := yaml.Join(path, "match")
		d.Note(at, e)
		return d.Value(e.Value, at, reflect.ValueOf(&o.Match).Elem())
	})
	if err != nil {
		return err
	}
	return addAll(d, &o.Keys, rest, path)
}

// Part implements yaml.Keyed. It finds nothing: an override is not decoded yet.
func (overrideForm) Part(string) (reflect.Value, bool) { return reflect.Value{}, false }

// Example implements yaml.Exemplary.
func (overrideForm) Example(path, _ string) string {
	switch {
	case strings.HasPrefix(path, "hosts"):
		return `{match: "host1*", payload: 4096B}`
	case strings.HasPrefix(path, "routing"):
		return `{match: "leaf*", name: ecmp}`
	}
	return `{match: "leaf*", buffer: {size: 32MiB}}`
}

// Variant is a named transport: the keys of hosts that it changes.
type Variant struct{ Keys Patch }

// variantForm decodes a Variant: `{cc: {name: cubic}, payload: 1460B}`.
type variantForm struct{ *Variant }

// DecodeKeys implements yaml.Keyed.
func (v variantForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	return addAll(d, &v.Keys, entries, path)
}

// Part implements yaml.Keyed. It finds nothing: a variant is not decoded yet.
func (variantForm) Part(string) (reflect.Value, bool) { return reflect.Value{}, false }

// Example implements yaml.Exemplary.
func (variantForm) Example(string, string) string { return "{cc: {name: cubic}, payload: 1460B}" }

// Apply decodes a patch into a *Switch or *Hosts and overrides the fields that it names. Path
// is where the patch was written.
func (c *Config) Apply(p Patch, path string, into any) error {
	return p.Apply(c.decoder(), path, reflect.ValueOf(into).Elem())
}

// ApplyRouting applies a patch to the router of a switch: another router, or other
// parameters.
func (c *Config) ApplyRouting(p Patch, path string, into *Routing) error {
	return p.ApplyKeyed(c.decoder(), path, choiceForm{Choice: &into.Choice, kind: "routing"})
}
