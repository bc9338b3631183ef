package scenario

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
)

// set applies a setting: `path=value`, or a Shorthand.
func (c *Config) set(text string) error {
	if strings.HasPrefix(text, "--") {
		return c.setShort(text)
	}
	src := yaml.Setting("--set " + text)
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return notASetting(src, text)
	}
	steps, node, err := readSetting(src, path, value)
	if err != nil {
		return err
	}
	whole := reflect.ValueOf(c).Elem()
	steps = yaml.Numbered(whole, steps)
	if node.Shape == yaml.Mapping {
		c.clear(steps)
	}
	// Selecting the present scheme keeps its parameters: in a sweep over
	// policy.name=dt,static, the first variant is the policy of the file.
	if node.Shape == yaml.Scalar && steps[len(steps)-1].Key == "name" {
		v, found := yaml.PartOf(whole, steps[:len(steps)-1])
		if choice, ok := choiceIn(v); found && ok && choice.Name == node.Text {
			return nil
		}
	}
	return c.decoder().Assign(whole, "", steps, node)
}

func notASetting(src *yaml.Source, text string) error {
	return yaml.Location{Source: src}.Error(fmt.Errorf("%q is not a setting (expected path=value, such as switch.policy.alpha=1/8)", text))
}

// readSetting parses both sides of a `path=value`.
func readSetting(src *yaml.Source, path, text string) ([]yaml.Step, *yaml.Node, error) {
	node, err := yaml.ParseSetting(src, text)
	if err != nil {
		return nil, nil, err
	}
	steps, ok := yaml.SplitPath(path)
	if !ok {
		return nil, nil, yaml.Location{Source: src}.Error(fmt.Errorf("%q is not a key (expected names joined by dots; list items as workload[0])", path))
	}
	return steps, node, nil
}

// clear resets a part of the scenario to its default and forgets the keys written there. A
// setting with a mapping replaces everything below its path.
func (c *Config) clear(steps []yaml.Step) {
	path := yaml.PathOf(steps)
	part, def := reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem()
	for i, s := range steps {
		if o, ok := part.Addr().Interface().(*Override); ok {
			o.Keys = o.Keys.Without(steps[i:])
			c.locations.Forget(path)
			return
		}
		if part.Kind() == reflect.Map && part.Type().Key().Kind() == reflect.String && i == len(steps)-1 && s.Index < 0 {
			part.SetMapIndex(reflect.ValueOf(s.Key), reflect.Value{})
			c.locations.Forget(path)
			return
		}
		var ok, known bool
		if def.IsValid() {
			def, known = yaml.PartOf(def, steps[i:i+1])
		}
		if below, inside := yaml.PartOf(part, steps[i:i+1]); inside {
			part = below
		} else if part, def, ok = parameter(part, yaml.PathOf(steps[:i]), s); !ok {
			return
		} else {
			known = true
		}
		if !known {
			def = reflect.Value{} // an item of a list
		}
	}
	if def.IsValid() && def.Type() == part.Type() {
		part.Set(def)
	} else {
		part.SetZero()
	}
	c.locations.Forget(path)
}

// parameter returns a parameter of the scheme that v selects, and its default.
func parameter(v reflect.Value, path string, s yaml.Step) (part, def reflect.Value, ok bool) {
	choice, ok := choiceIn(v)
	if !ok || s.Index >= 0 {
		return part, def, false
	}
	scheme, err := findScheme(kindAt(path), choice.Name)
	if err != nil || scheme.Params == nil || choice.Params == nil {
		return part, def, false
	}
	fresh := Choice{Params: scheme.Params()}
	if part, ok = choice.part(s.Key); ok {
		def, ok = fresh.part(s.Key)
	}
	return part, def, ok
}

// choiceIn returns v as a Choice, or the Choice that v embeds.
func choiceIn(v reflect.Value) (*Choice, bool) {
	if v.Kind() != reflect.Struct {
		return nil, false
	}
	if inline := v.FieldByName("Choice"); inline.IsValid() {
		v = inline
	}
	choice, ok := v.Addr().Interface().(*Choice)
	return choice, ok
}

// Shorthand is a flag that selects a scheme and its parameters, as in
// `--cc dcqcn:preset=paper`. ReadFile and Parse accept it as a setting.
type Shorthand struct {
	Flag string
	Key  string // key of the scenario
	Doc  string
}

// Shorthands lists the flags.
var Shorthands = []Shorthand{
	{"topology", "topology", "topology"},
	{"policy", "switch.policy", "buffer policy"},
	{"flow-control", "switch.flow_control", "flow control"},
	{"scheduler", "switch.scheduler", "scheduler"},
	{"deadlock", "switch.deadlock", "deadlock handler"},
	{"routing", "routing", "routing"},
	{"cc", "hosts.cc", "congestion control"},
}

// Kind returns the plug point of the flag.
func (s *Shorthand) Kind() string { return s.Key[strings.LastIndex(s.Key, ".")+1:] }

// Setting returns the setting for the flag with a value.
func (s *Shorthand) Setting(value string) string { return "--" + s.Flag + " " + value }

// setShort applies `--flag name:parameter=value,parameter=value`.
func (c *Config) setShort(text string) error {
	src := yaml.Setting(text)
	flag, value, _ := strings.Cut(text, " ")
	key := ""
	for _, s := range Shorthands {
		if flag == "--"+s.Flag {
			key = s.Key
		}
	}
	if key == "" {
		return notASetting(src, text)
	}
	name, params, _ := strings.Cut(value, ":")
	if strings.ContainsAny(name, "{}[]\",'#&*!|>% ") || name == "" {
		return yaml.Location{Source: src}.Error(yaml.Atf(key+".name", "%q is not a name (expected NAME, or NAME:PARAMETER=VALUE,...)", name))
	}
	rest := splitList(params)
	// Apply presets first: they set other parameters.
	sort.SliceStable(rest, func(i, j int) bool {
		return strings.HasPrefix(rest[i], "preset=") && !strings.HasPrefix(rest[j], "preset=")
	})
	for _, s := range append([]string{"name=" + name}, rest...) {
		path, value, ok := strings.Cut(s, "=")
		if !ok {
			return yaml.Location{Source: src}.Error(yaml.Atf(key, "%q is not a parameter (expected PARAMETER=VALUE,...)", s))
		}
		steps, node, err := readSetting(src, key+"."+path, value)
		if err != nil {
			return err
		}
		if err := c.decoder().Assign(reflect.ValueOf(c).Elem(), "", steps, node); err != nil {
			return err
		}
	}
	return nil
}

// splitList splits s at commas outside brackets.
func splitList(s string) []string {
	if s == "" {
		return nil
	}
	var list []string
	from, depth := 0, 0
	for i, r := range s {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, s[from:i])
				from = i + 1
			}
		}
	}
	return append(list, s[from:])
}
