package scenario

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"

	goccy "github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scheme/sched"
)

// Marshal returns the scenario as YAML with all defaults filled in. Parsing it gives the same
// run.
func (c *Config) Marshal() ([]byte, error) { return c.marshal(encoder{}) }

func (c *Config) marshal(e encoder) ([]byte, error) {
	resolved := *c
	resolved.Workload = append([]Workload(nil), c.Workload...)
	resolved.Probes = append([]Probe(nil), c.Probes...)
	resolved.Resolve()
	v, err := e.of("", reflect.ValueOf(resolved), reflect.ValueOf(*Default()))
	if err != nil {
		return nil, err
	}
	return goccy.MarshalWithOptions(v, goccy.Indent(2), goccy.IndentSequence(true))
}

// encoder converts values to the types that the YAML library encodes.
type encoder struct {
	// canonical selects the text that is hashed. It must not change between versions: it uses
	// the oldest notation of every value and omits newer keys (tag `since`) at their default.
	canonical bool
}

// plainOf encodes a single value.
func plainOf(v reflect.Value) (any, error) { return encoder{}.of("", v, reflect.Value{}) }

// of encodes the value of a key. Def is its default; it is invalid if there is none.
func (e encoder) of(key string, v, def reflect.Value) (any, error) {
	switch t := v.Interface().(type) {
	case Choice:
		return e.choice(&t, key, nil)
	case ECN:
		return e.ecn(&t)
	case Scheduler:
		return e.scheduler(&t)
	case Routing:
		extra, err := e.fields(v, def)
		if err != nil {
			return nil, err
		}
		return e.choice(&t.Choice, "routing", extra)
	case Topology:
		return e.topology(&t, v)
	case Workload:
		return e.workload(&t)
	case Probe:
		return e.probe(&t)
	case Override:
		out := goccy.MapSlice{{Key: "match", Value: t.Match}}
		return append(out, t.Keys.Plain()...), nil
	case Fault:
		return e.fault(&t, v)
	case Variant:
		return t.Keys.Plain(), nil
	case ClassChoice:
		return t.plain(), nil
	case Expectation:
		return t.plain(), nil
	case encoding.TextMarshaler:
		text, err := t.MarshalText()
		return string(text), err
	case fmt.Stringer: // units
		return t.String(), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return e.fields(v, def)
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			var err error
			if items[i], err = e.of("", v.Index(i), reflect.Value{}); err != nil {
				return nil, err
			}
		}
		return items, nil
	case reflect.Map:
		return e.mapping(v)
	}
	return v.Interface(), nil
}

// list returns a copy of words that is never nil.
func list(words []string) []string { return append([]string{}, words...) }

// fields encodes the fields of a struct, except zero fields with omitempty.
func (e encoder) fields(v, def reflect.Value) (goccy.MapSlice, error) {
	out := goccy.MapSlice{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Anonymous || v.Field(i).IsZero() && strings.Contains(f.Tag.Get("yaml"), ",omitempty") {
			continue
		}
		below := reflect.Zero(f.Type)
		if def.IsValid() {
			below = def.Field(i)
		}
		if e.canonical && f.Tag.Get("since") != "" && reflect.DeepEqual(v.Field(i).Interface(), below.Interface()) {
			continue
		}
		item, err := e.of(yaml.KeyOf(f), v.Field(i), below)
		if err != nil {
			return nil, err
		}
		out = append(out, goccy.MapItem{Key: yaml.KeyOf(f), Value: item})
	}
	return out, nil
}

// mapping encodes a map, sorted by key.
func (e encoder) mapping(v reflect.Value) (goccy.MapSlice, error) {
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
	out := goccy.MapSlice{}
	for _, k := range keys {
		item, err := e.of("", v.MapIndex(k), reflect.Value{})
		if err != nil {
			return nil, err
		}
		out = append(out, goccy.MapItem{Key: fmt.Sprint(k.Interface()), Value: item})
	}
	return out, nil
}

// params encodes the parameters of a scheme. Def holds their defaults; nil if unknown.
func (e encoder) params(params, def any) (goccy.MapSlice, error) {
	if params == nil {
		return nil, nil
	}
	below := reflect.Value{}
	if def != nil && reflect.TypeOf(def) == reflect.TypeOf(params) {
		below = reflect.ValueOf(def).Elem()
	}
	return e.fields(reflect.ValueOf(params).Elem(), below)
}

// choice encodes the name, further keys of the mapping, and the parameters.
func (e encoder) choice(c *Choice, kind string, extra goccy.MapSlice) (goccy.MapSlice, error) {
	var def any
	if s, err := findScheme(kind, c.Name); err == nil && s.Params != nil {
		def = s.Params()
	}
	params, err := e.params(c.Params, def)
	if err != nil {
		return nil, err
	}
	return append(append(goccy.MapSlice{{Key: "name", Value: c.Name}}, extra...), params...), nil
}

// ecn encodes the marker, the marked groups, and the markers of single groups.
func (e encoder) ecn(t *ECN) (any, error) {
	extra := goccy.MapSlice{{Key: "classes", Value: list(t.Classes)}, {Key: "at", Value: t.At}}
	if len(t.ByClass) > 0 {
		own := goccy.MapSlice{}
		for _, g := range slices.Sorted(maps.Keys(t.ByClass)) {
			c := t.ByClass[g]
			item, err := e.choice(&c, "ecn", nil)
			if err != nil {
				return nil, err
			}
			own = append(own, goccy.MapItem{Key: g, Value: item})
		}
		extra = append(extra, goccy.MapItem{Key: "by_class", Value: own})
	}
	return e.choice(&t.Choice, "ecn", extra)
}

// topology encodes the generator and its parameters, then the overrides.
func (e encoder) topology(t *Topology, v reflect.Value) (any, error) {
	out, err := e.choice(&t.Choice, "topology", nil)
	if err != nil {
		return nil, err
	}
	extra, err := e.fields(v, reflect.Value{})
	return append(out, extra...), err
}

// scheduler encodes the name, the groups and the parameters. The canonical form uses the older
// notation: lists of groups under the name of the scheduler. The resolved form does so only
// for an idle quantum, which the newer notation cannot express.
func (e encoder) scheduler(s *Scheduler) (any, error) {
	params, err := e.params(s.Params, nil)
	if err != nil {
		return nil, err
	}
	out := goccy.MapSlice{{Key: "strict", Value: list(s.Strict)}}
	name, groups := goccy.MapItem{Key: "name", Value: s.Name}, goccy.MapItem{Key: "groups", Value: s.Groups}
	idle := sched.DefaultQuantum
	if s.Name == "rr" && s.idle != nil {
		idle = *s.idle
	}
	switch {
	case !e.canonical && idle == sched.DefaultQuantum || s.Name != "dwrr" && s.Name != "rr":
		out = append(goccy.MapSlice{name}, out...)
	case s.Name == "dwrr" || idle == 0 && e.canonical:
		groups.Key = s.Name
	default: // rr with a quantum
		groups.Key = s.Name
		params = goccy.MapSlice{{Key: "quantum", Value: idle.String()}}
	}
	if len(s.Groups) > 0 {
		out = append(out, groups)
	}
	return append(out, params...), nil
}

// workload encodes the name, the generator and its parameters, then the shared keys.
func (e encoder) workload(w *Workload) (any, error) {
	out := goccy.MapSlice{{Key: "name", Value: w.Name}, {Key: "generator", Value: w.Generator}}
	var def any
	if s, err := findScheme("generator", w.Generator); err == nil && s.Params != nil {
		def = s.Params()
	}
	params, err := e.params(w.Params, def)
	if err != nil {
		return nil, err
	}
	out = append(out, params...)
	v := reflect.ValueOf(w).Elem()
	for _, k := range sharedKeys {
		f, _ := yaml.Field(v, k)
		if f.IsZero() {
			continue
		}
		item, err := e.of(k, f, reflect.Value{})
		if err != nil {
			return nil, err
		}
		out = append(out, goccy.MapItem{Key: k, Value: item})
	}
	return out, nil
}

// fault writes forever for durations that settle extended to the end of time. The canonical
// form writes the duration: forever is a newer notation.
func (e encoder) fault(f *Fault, v reflect.Value) (any, error) {
	out, err := e.fields(v, reflect.Value{})
	for i := range out {
		if lasts := map[any]units.Time{"for": f.For, "down_for": f.DownFor}[out[i].Key]; lasts > 0 && f.At+lasts == units.MaxTime && !e.canonical {
			out[i].Value = yaml.Forever
		}
	}
	return out, err
}

func (e encoder) probe(p *Probe) (any, error) {
	extra := goccy.MapSlice{{Key: "as", Value: p.As}, {Key: "where", Value: p.Where}, {Key: "from", Value: p.From.String()}}
	if p.To != 0 {
		extra = append(extra, goccy.MapItem{Key: "to", Value: p.To.String()})
	}
	return e.choice(&p.Choice, "probe", extra)
}
