package scenario

import (
	"reflect"
	"sort"
	"strings"
)

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
	{"deadlock", "switch.deadlock", "handling of deadlocks"},
	{"cc", "hosts.cc", "congestion control"},
}

// Kind returns the plug point that the flag chooses from.
func (s *Shorthand) Kind() string { return s.Key[strings.LastIndex(s.Key, ".")+1:] }

// Setting returns the flag with a value as a setting.
func (s *Shorthand) Setting(value string) string { return "--" + s.Flag + " " + value }

// overrideShort applies `--flag name:parameter=value,parameter=value`.
func overrideShort(c *Config, set string) error {
	d := &decoder{src: c.source, set: set}
	flag, value, _ := strings.Cut(set, " ")
	key := ""
	for _, s := range Shorthands {
		if flag == "--"+s.Flag {
			key = s.Key
		}
	}
	if key == "" {
		return d.fail(place{}, "", "%q is not a setting; allowed: path=value, such as switch.policy.alpha=1/8", set)
	}
	name, params, _ := strings.Cut(value, ":")
	if strings.ContainsAny(name, "{}[]\",'#&*!|>% ") || name == "" {
		return d.fail(place{}, key+".name", "%q is not a name; allowed: NAME, or NAME:PARAMETER=VALUE,...", name)
	}
	settings := []string{"name=" + name}
	rest := splitList(params)
	// A preset fills in the other parameters.
	sort.SliceStable(rest, func(i, j int) bool {
		return strings.HasPrefix(rest[i], "preset=") && !strings.HasPrefix(rest[j], "preset=")
	})
	for _, s := range append(settings, rest...) {
		path, text, ok := strings.Cut(s, "=")
		if !ok {
			return d.fail(place{}, key, "%q is not a parameter; allowed: PARAMETER=VALUE,...", s)
		}
		steps, node, err := d.setting(key+"."+path, text)
		if err != nil {
			return err
		}
		if err := d.assign(reflect.ValueOf(c).Elem(), "", steps, node); err != nil {
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
