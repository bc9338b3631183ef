package scenario

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
)

// This file changes a scenario by settings: `path=value`, and the flags that choose
// a scheme.

// set applies one `path=value`, or one Shorthand.
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
	// To choose the scheme that is chosen keeps its parameters: of the variants
	// policy.name=dt,static the first is what the file says.
	if node.Shape == yaml.Word && steps[len(steps)-1].Key == "name" {
		v, found := yaml.PartOf(whole, steps[:len(steps)-1])
		if choice, ok := choiceIn(v); found && ok && choice.Name == node.Text {
			return nil
		}
	}
	return c.decoder().Assign(whole, "", steps, node)
}

func notASetting(src *yaml.Source, text string) error {
	return yaml.Place{Source: src}.Error(fmt.Errorf("%q is not a setting; allowed: path=value, such as switch.policy.alpha=1/8", text))
}

// readSetting reads the two sides of a `path=value`.
func readSetting(src *yaml.Source, path, text string) ([]yaml.Step, *yaml.Node, error) {
	node, err := yaml.ParseSetting(src, text)
	if err != nil {
		return nil, nil, err
	}
	steps, ok := yaml.SplitPath(path)
	if !ok {
		return nil, nil, yaml.Place{Source: src}.Error(fmt.Errorf("%q is not a key; allowed: names joined by dots, items of lists as workload[0]", path))
	}
	return steps, node, nil
}

// clear sets a part of a scenario back to its default and forgets what was
// written there: keys that are given in braces replace all of it.
func (c *Config) clear(steps []yaml.Step) {
	path := yaml.PathOf(steps)
	part, usual := reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem()
	for i, s := range steps {
		if o, ok := part.Addr().Interface().(*Override); ok {
			o.Keys = o.Keys.Without(steps[i:])
			c.places.Forget(path)
			return
		}
		if part.Kind() == reflect.Map && part.Type().Key().Kind() == reflect.String && i == len(steps)-1 && s.Index < 0 {
			part.SetMapIndex(reflect.ValueOf(s.Key), reflect.Value{})
			c.places.Forget(path)
			return
		}
		var ok, known bool
		if usual.IsValid() {
			usual, known = yaml.PartOf(usual, steps[i:i+1])
		}
		if below, inside := yaml.PartOf(part, steps[i:i+1]); inside {
			part = below
		} else if part, usual, ok = parameter(part, yaml.PathOf(steps[:i]), s); !ok {
			return
		} else {
			known = true
		}
		if !known {
			usual = reflect.Value{} // an item of a list
		}
	}
	if usual.IsValid() && usual.Type() == part.Type() {
		part.Set(usual)
	} else {
		part.SetZero()
	}
	c.places.Forget(path)
}

// parameter returns a parameter of the scheme that v chooses, and its default.
func parameter(v reflect.Value, path string, s yaml.Step) (part, usual reflect.Value, ok bool) {
	choice, ok := choiceIn(v)
	if !ok || s.Index >= 0 {
		return part, usual, false
	}
	scheme, err := findScheme(kindAt(path), choice.Name)
	if err != nil || scheme.Params == nil || choice.Params == nil {
		return part, usual, false
	}
	fresh := Choice{Params: scheme.Params()}
	if part, ok = choice.part(s.Key); ok {
		usual, ok = fresh.part(s.Key)
	}
	return part, usual, ok
}

// choiceIn returns the choice that a struct is or holds.
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

// Shorthand is a flag that chooses a scheme, as in `--cc dcqcn:preset=paper`: one
// key with its parameters. ReadFile and Parse take it as a setting.
type Shorthand struct {
	Flag string
	Key  string // of the scenario
	Doc  string
}

// Shorthands lists the flags.
var Shorthands = []Shorthand{
	{"topology", "topology", "topology"},
	{"policy", "switch.policy", "buffer policy"},
	{"flow-control", "switch.flow_control", "flow control"},
	{"scheduler", "switch.scheduler", "scheduler"},
	{"deadlock", "switch.deadlock", "handling of deadlocks"},
	{"routing", "routing", "routing"},
	{"cc", "hosts.cc", "congestion control"},
}

// Kind returns the plug point that the flag chooses from.
func (s *Shorthand) Kind() string { return s.Key[strings.LastIndex(s.Key, ".")+1:] }

// Setting returns the flag with a value as a setting.
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
		return yaml.Place{Source: src}.Error(yaml.Atf(key+".name", "%q is not a name; allowed: NAME, or NAME:PARAMETER=VALUE,...", name))
	}
	rest := splitList(params)
	// A preset fills in the other parameters.
	sort.SliceStable(rest, func(i, j int) bool {
		return strings.HasPrefix(rest[i], "preset=") && !strings.HasPrefix(rest[j], "preset=")
	})
	for _, s := range append([]string{"name=" + name}, rest...) {
		path, value, ok := strings.Cut(s, "=")
		if !ok {
			return yaml.Place{Source: src}.Error(yaml.Atf(key, "%q is not a parameter; allowed: PARAMETER=VALUE,...", s))
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

// splitList splits at the commas that are not within brackets.
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
