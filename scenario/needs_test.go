package scenario

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/yaml"
)

// What a scheme needs is its default wherever it is selected, unless the scenario sets the key.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		coalesce   bool
		overrides  string
	}{
		{"no handler", "switch: {deadlock: {name: none}}", nil, true, ""},
		{"another handler", "switch: {deadlock: {name: watchdog}}", nil, true, ""},
		{"file", "switch: {deadlock: {name: roundabout}}", nil, false, ""},
		{"flag", "switch: {}", []string{"--deadlock roundabout:timeout=1ms"}, false, ""},
		{"setting", "switch: {pfc: {hold: indefinite}}", []string{"switch.deadlock.name=roundabout"}, false, ""},
		{"replaced by a setting", "switch: {deadlock: {name: roundabout}}", []string{"switch.deadlock={name: none}"}, true, ""},
		{"the scenario says otherwise", "switch: {deadlock: {name: roundabout}, pfc: {coalesce: true}}", nil, true, ""},
		{"a setting says otherwise", "switch: {deadlock: {name: roundabout}}", []string{"switch.pfc.coalesce=true"}, true, ""},
		{"override", `switch: {overrides: [{match: "a*", deadlock: {name: roundabout}}, {match: "b*", deadlock: {name: itsy}}]}`, nil, true,
			"{deadlock: {name: roundabout}, pfc: {coalesce: false}} {deadlock: {name: itsy}}"},
		{"override with other pfc keys", `switch: {overrides: [{match: "a*", pfc: {quanta: 9}, deadlock: {name: roundabout}}]}`, nil, true,
			"{pfc: {quanta: 9, coalesce: false}, deadlock: {name: roundabout}}"},
		{"switch says otherwise for an override", `switch: {pfc: {coalesce: true}, overrides: [{match: "a*", deadlock: {name: roundabout}}]}`, nil, true,
			"{deadlock: {name: roundabout}}"},
		{"two overrides", `switch: {overrides: [{match: "a*", deadlock: {name: roundabout}}, {match: "b*", deadlock: {name: roundabout}}]}`, nil, true,
			"{deadlock: {name: roundabout}, pfc: {coalesce: false}} {deadlock: {name: roundabout}, pfc: {coalesce: false}}"},
		// Ran before schemes had needs: its hash must stay.
		{"an override sets the key", `switch: {deadlock: {name: roundabout}, overrides: [{match: "*", pfc: {coalesce: false}}]}`, nil, true,
			"{pfc: {coalesce: false}}"},
	} {
		cfg, err := Parse("x.yaml", []byte(c.text), c.set...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var keys []string
		for _, o := range cfg.Switch.Overrides {
			keys = append(keys, o.Keys.String())
		}
		if got := strings.Join(keys, " "); cfg.Switch.PFC.Coalesce != c.coalesce || got != c.overrides {
			t.Errorf("%s: coalesce is %t, overrides are %s", c.name, cfg.Switch.PFC.Coalesce, got)
		}
		resolved, err := cfg.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("resolved.yaml", resolved)
		if err != nil {
			t.Fatalf("%s: resolved: %v", c.name, err)
		}
		if text, err := again.Marshal(); err != nil || string(text) != string(resolved) {
			t.Errorf("%s: the resolved scenario does not resolve to itself: %v\n%s", c.name, err, text)
		}
	}
}

// Every need of every scheme is a key of switch with a valid value.
func TestNeedsOfAllSchemes(t *testing.T) {
	found := 0
	for _, k := range Kinds() {
		for _, s := range k.Schemes {
			for _, n := range s.Needs {
				found++
				cfg := Default()
				if err := cfg.Apply(Patch{}.Set(n.Value, strings.Split(n.Key, ".")...), "switch", &cfg.Switch); err != nil {
					t.Errorf("%s %s needs %v: %v", k.Name, s.Name, n, err)
				}
				if !slices.Contains(yaml.KeyNames(reflect.TypeFor[Switch]()), k.Name) {
					t.Errorf("%s %s needs %v, but is not selected by a switch", k.Name, s.Name, n)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no scheme needs anything (expected roundabout)")
	}
}
