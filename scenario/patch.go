package scenario

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Patch is a part of a scenario as it was written: keys with values, in order. It
// is read when it is known what it changes, on top of that.
type Patch []PatchKey

// PatchKey is one key of a patch. Its value is a string, a Plain, a []any of
// values, or a Patch.
type PatchKey struct {
	Key   string
	Value any
}

// Plain is a number or a truth value as it was written.
type Plain string

// MarshalYAML writes the value without quotes.
func (p Plain) MarshalYAML() ([]byte, error) { return []byte(p), nil }

// ParsePatch reads keys such as `{buffer: {size: 32MiB}}`.
func ParsePatch(text string) (Patch, error) {
	d := &decoder{src: newSource("patch", []byte(text))}
	body, err := document(d, []byte(text), "keys with values")
	if err != nil {
		return nil, err
	}
	var p Patch
	err = p.decodeNode(d, body, "")
	return p, err
}

// decodeNode reads keys and adds them to what is there.
func (p *Patch) decodeNode(d *decoder, n ast.Node, path string) error {
	entries, err := d.entries(n, path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.add(d, e, path); err != nil {
			return err
		}
	}
	return nil
}

// add reads one key. A mapping is merged with what is there, anything else
// replaces it. The old value is not changed: copies of the patch share it.
func (p *Patch) add(d *decoder, e entry, path string) error {
	at := join(path, e.key)
	d.note(at, e)
	old, i := p.get(e.key)
	if below, ok := old.(Patch); ok && isMapping(e.node) {
		merged := append(Patch(nil), below...)
		if err := merged.decodeNode(d, e.node, at); err != nil {
			return err
		}
		*p = append(append(append(Patch(nil), (*p)[:i]...), PatchKey{e.key, merged}), (*p)[i+1:]...)
		return nil
	}
	v, err := patchValue(d, e.node, at)
	if err != nil {
		return err
	}
	if i < 0 {
		*p = append(append(Patch(nil), *p...), PatchKey{e.key, v})
		return nil
	}
	*p = append(append(append(Patch(nil), (*p)[:i]...), PatchKey{e.key, v}), (*p)[i+1:]...)
	return nil
}

func (p *Patch) get(key string) (v any, index int) {
	for i, k := range *p {
		if k.Key == key {
			return k.Value, i
		}
	}
	return nil, -1
}

func patchValue(d *decoder, n ast.Node, path string) (any, error) {
	if text, _, ok := scalar(n); ok {
		if len(text) > maxWord {
			return nil, d.fail(placeOf(n), path, "the value has %d characters; allowed: at most %d", len(text), maxWord)
		}
		switch n.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			return Plain(text), nil
		}
		return text, nil
	}
	if isMapping(n) {
		var p Patch
		err := p.decodeNode(d, n, path)
		return p, err
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, d.mismatch(n, path, "a value, a list, or keys with values")
	}
	list := make([]any, len(seq.Values))
	for i, item := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.note(at, entry{place: placeOf(item), node: item})
		var err error
		if list[i], err = patchValue(d, item, at); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// has reports whether a patch holds something at a path.
func (p Patch) has(steps []step) bool {
	v := any(p)
	for _, s := range steps {
		switch t := v.(type) {
		case Patch:
			next, i := t.get(s.key)
			if s.index >= 0 || i < 0 {
				return false
			}
			v = next
		case []any:
			if s.index < 0 || s.index >= len(t) {
				return false
			}
			v = t[s.index]
		default:
			return false
		}
	}
	return true
}

// without returns a patch that holds nothing at a path. Below lists it is the
// patch itself. The old one is not changed.
func (p Patch) without(steps []step) Patch {
	if len(steps) == 0 {
		return nil
	}
	old, i := p.get(steps[0].key)
	if i < 0 {
		return p
	}
	left := slices.Clone(p)
	if len(steps) == 1 {
		return slices.Delete(left, i, i+1)
	}
	if below, ok := old.(Patch); ok {
		left[i].Value = below.without(steps[1:])
	}
	return left
}

// plainPatch turns a value of a patch into what the YAML library writes.
func plainPatch(v any) any {
	switch t := v.(type) {
	case Patch:
		out := yaml.MapSlice{}
		for _, k := range t {
			out = append(out, yaml.MapItem{Key: k.Key, Value: plainPatch(k.Value)})
		}
		return out
	case []any:
		items := make([]any, len(t))
		for i := range t {
			items[i] = plainPatch(t[i])
		}
		return items
	}
	return v
}

// patcher reads patches with the decoder of files. The places of their keys are
// known from the first reading: a node carries minus the number of its place.
type patcher struct{ decoder }

// newPatcher returns a patcher for a scenario that came from src, which may be
// nil.
func newPatcher(src *source) *patcher {
	p := &patcher{decoder{src: src, again: []place{{}}}}
	if src == nil {
		p.src = newSource("", nil)
	}
	return p
}

// apply reads the keys of a patch into a struct that they override. The patch was
// written at from; messages say so.
func (p *patcher) apply(patch Patch, from string, into reflect.Value) error {
	var entries []entry
	for _, k := range patch {
		at := join(from, k.Key)
		entries = append(entries, entry{key: k.Key, place: p.key(at), node: p.node(k.Value, at)})
	}
	return p.fields(entries, from, into, nil)
}

// keep returns a place that fail finds again.
func (p *patcher) keep(real place) place {
	p.again = append(p.again, real)
	return place{line: 1 - len(p.again)}
}

// key returns the place of a key.
func (p *patcher) key(path string) place {
	if real, ok := p.src.keys[path]; ok {
		return p.keep(real)
	}
	return p.keep(p.src.find(path))
}

func (p *patcher) token(kind token.Type, text string, at place) *token.Token {
	return &token.Token{Type: kind, Value: text, Position: &token.Position{Line: at.line}}
}

// node builds what the parser would have made of a value.
func (p *patcher) node(v any, path string) ast.Node {
	here := p.keep(p.src.find(path))
	switch t := v.(type) {
	case Patch:
		m := ast.Mapping(p.token(token.MappingStartType, "{", here), true)
		for _, k := range t {
			at := join(path, k.Key)
			key := ast.String(p.token(token.StringType, k.Key, p.key(at)))
			m.Values = append(m.Values, ast.MappingValue(p.token(token.MappingValueType, ":", here), key, p.node(k.Value, at)))
		}
		return m
	case []any:
		s := ast.Sequence(p.token(token.SequenceStartType, "[", here), true)
		for i := range t {
			s.Values = append(s.Values, p.node(t[i], fmt.Sprintf("%s[%d]", path, i)))
		}
		return s
	case Plain:
		return ast.String(p.token(token.StringType, string(t), here))
	}
	return ast.String(p.token(token.DoubleQuoteType, v.(string), here))
}
