package fabric

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/xoff-net/xoff/scenario"
)

// validator compiles the schema with an independent library.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(scenario.Schema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON converts YAML to JSON values, as an editor does.
func asJSON(text []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	var plain func(v any) any
	plain = func(v any) any {
		switch t := v.(type) {
		case map[string]any:
			for k := range t {
				t[k] = plain(t[k])
			}
		case map[any]any:
			m := make(map[string]any)
			for k, x := range t {
				m[fmt.Sprint(k)] = plain(x)
			}
			return m
		case []any:
			for i := range t {
				t[i] = plain(t[i])
			}
		}
		return v
	}
	b, err := json.Marshal(plain(v))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
}

func TestSchemaAccepts(t *testing.T) {
	s := validator(t)
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("examples are %v, %v", files, err)
	}
	texts := map[string][]byte{"overrides": []byte(small22 + `
switch:
  overrides:
    - {match: "leaf*", buffer: {size: 32MiB}, policy: {alpha: 1/4}, latency: 0}
    - {match: "leaf0.port1", flow_control: {name: none}, scheduler: {quanta: {1: 3KB}}}
hosts:
  overrides: [{match: "host1", payload: 512B, cc: {name: fixed, rate: 1.5Gbps}}]
routing:
  name: flowlet
  gap: 20us
  overrides: [{match: leaf0, name: ecmp}, {match: spine0, gap: 5us}, {match: "leaf*", name: adaptive, gap: 50us}]
probes: [{name: dsh}, {name: dsh, as: slow, every: 1ms, zeros: true}, {name: gauges, of: [flow_control]}]
`)}
	for _, name := range files {
		if texts[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		c, err := Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string][]byte{"as written": text, "resolved": resolved} {
			doc, err := asJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(doc); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// The schema rejects every mistake that a schema can express.
func TestSchemaRejects(t *testing.T) {
	s := validator(t)
	for _, text := range []string{
		"colour: red", "topology: {leafs: 3}", "topology: {name: fat-tre}", "topology: {name: one-switch, spines: 2}",
		"switch: {policy: {name: dtt}}", "switch: {policy: {limit: 3KB}}", "switch: {policy: {name: static, alpha: 1}}",
		"switch: {buffer: {size: 3}}", "switch: {buffer: {size: 3us}}", "switch: {latency: 3KB}", "switch: {pfc: {hold: on}}",
		"switch: {pfc: {quanta: many}}", "switch: {flow_control: {headroom: about}}", "switch: {ecn: {at: dawn}}", "switch: {pfc: {coalesce: 1}}",
		"hosts: {cc: {name: dcqcn, preset: x}}", "hosts: {cc: {name: none, rate: 1Gbps}}", "hosts: {reliability: {name: hope}}",
		"routing: {name: luck}", "seed: -1", "classes: {a: {ids: [x], kind: lossless}}", "classes: {a: {ids: [1], kind: b}}",
		"switch: {overrides: [{buffer: {size: 3KB}}]}", "switch: {overrides: [{match: x, colour: red}]}", "switch: {overrides: [{match: x, wire_overhead: 3B}]}",
		"routing: {overrides: [{name: ecmp}]}", "routing: {overrides: [{match: leaf0, name: luck}]}",
		"routing: {overrides: [{match: leaf0, name: ecmp, gap: 3us}]}", "routing: {overrides: [{match: leaf0, reroute_after: 3us}]}",
		"probes: [{name: dsh, zeros: maybe}]", "probes: [{name: dsh, by: 7}]", "probes: [{name: dsh, of: [cc]}]", "run: {arrivals: soon}", "run: {stop: {when: bored}}", "faults: {at: 3us}",
	} {
		doc, err := asJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(doc) == nil {
			t.Errorf("the schema accepts %s", text)
		}
		if _, err := Parse("a", []byte(text)); err == nil {
			t.Errorf("the parser accepts %s", text)
		}
	}
}
