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

// Marshal writes the scenario as YAML with every default filled in. Parse reads
// it back to the same run.
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

// encoder turns values into what the YAML library writes as one reads it.
type encoder struct {
	// canonical writes the text that hashes of scenarios are made of. It outlives
	// changes of the format: forms are the oldest there were, and keys that came later
	// (tag since) are left out at their default.
	canonical bool
}

// plainOf is for single values.
func plainOf(v reflect.Value) (any, error) { return encoder{}.of("", v, reflect.Value{}) }

// of encodes the value of a key; usual is its default, not valid where there is none.
func (e encoder) of(key string, v, usual reflect.Value) (any, error) {
	switch t := v.Interface().(type) {
	case Choice:
		return e.choice(&t, key, nil)
	case ECN:
		return e.ecn(&t)
	case Scheduler:
		return e.scheduler(&t)
	case Routing:
		beside, err := e.fields(v, usual)
		if err != nil {
			return nil, err
		}
		return e.choice(&t.Choice, "routing", beside)
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
		return e.fields(v, usual)
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

// list makes an empty list of a missing one.
func list(words []string) []string { return append([]string{}, words...) }

// fields writes the fields of a struct. Those marked omitempty have no meaning
// when they are zero.
func (e encoder) fields(v, usual reflect.Value) (goccy.MapSlice, error) {
	out := goccy.MapSlice{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Anonymous || v.Field(i).IsZero() && strings.Contains(f.Tag.Get("yaml"), ",omitempty") {
			continue
		}
		below := reflect.Zero(f.Type)
		if usual.IsValid() {
			below = usual.Field(i)
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

// mapping writes a map in the order of its keys.
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

// params writes the parameters of a scheme; usual are its defaults, nil when nobody
// knows them.
func (e encoder) params(params, usual any) (goccy.MapSlice, error) {
	if params == nil {
		return nil, nil
	}
	below := reflect.Value{}
	if usual != nil && reflect.TypeOf(usual) == reflect.TypeOf(params) {
		below = reflect.ValueOf(usual).Elem()
	}
	return e.fields(reflect.ValueOf(params).Elem(), below)
}

// choice writes the name, what stands beside it, and the parameters.
func (e encoder) choice(c *Choice, kind string, beside goccy.MapSlice) (goccy.MapSlice, error) {
	var usual any
	if s, err := findScheme(kind, c.Name); err == nil && s.Params != nil {
		usual = s.Params()
	}
	params, err := e.params(c.Params, usual)
	if err != nil {
		return nil, err
	}
	return append(append(goccy.MapSlice{{Key: "name", Value: c.Name}}, beside...), params...), nil
}

// ecn writes the marker, what it marks, and the markers of single groups if there are any.
func (e encoder) ecn(t *ECN) (any, error) {
	beside := goccy.MapSlice{{Key: "classes", Value: list(t.Classes)}, {Key: "at", Value: t.At}}
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
		beside = append(beside, goccy.MapItem{Key: "by_class", Value: own})
	}
	return e.choice(&t.Choice, "ecn", beside)
}

// topology writes the generator and its parameters, then the exceptions.
func (e encoder) topology(t *Topology, v reflect.Value) (any, error) {
	out, err := e.choice(&t.Choice, "topology", nil)
	if err != nil {
		return nil, err
	}
	beside, err := e.fields(v, reflect.Value{})
	return append(out, beside...), err
}

// scheduler writes the name, the groups and the parameters; canonically as scenarios
// had it before schedulers were chosen by name: lists of groups under their names. So
// does the resolved form where the other one cannot say all of it.
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
	default: // a quantum stood beside rr, too
		groups.Key = s.Name
		params = goccy.MapSlice{{Key: "quantum", Value: idle.String()}}
	}
	if len(s.Groups) > 0 {
		out = append(out, groups)
	}
	return append(out, params...), nil
}

// workload writes the name, the generator and its parameters, then the shared keys.
func (e encoder) workload(w *Workload) (any, error) {
	out := goccy.MapSlice{{Key: "name", Value: w.Name}, {Key: "generator", Value: w.Generator}}
	var usual any
	if s, err := findScheme("generator", w.Generator); err == nil && s.Params != nil {
		usual = s.Params()
	}
	params, err := e.params(w.Params, usual)
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

// fault writes forever where settle put the end of all time. Canonically that is a
// time as any other: the word came later.
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
	beside := goccy.MapSlice{{Key: "as", Value: p.As}, {Key: "where", Value: p.Where}, {Key: "from", Value: p.From.String()}}
	if p.To != 0 {
		beside = append(beside, goccy.MapItem{Key: "to", Value: p.To.String()})
	}
	return e.choice(&p.Choice, "probe", beside)
}
