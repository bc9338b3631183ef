package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
)

// Variants returns one variant per combination of values.
func (t *Table) Variants(folder string) ([]*Variant, error) {
	var list []*Variant
	for _, g := range t.Groups() {
		v := newVariant("", folder)
		v.varied(t.Axes, g.Values)
		v.Name = v.Label
		for _, i := range g.Rows {
			if r := &t.Rows[i]; r.Results {
				if v.keys == nil {
					var err error
					if v.keys, err = Values(r.Point.Config); err != nil {
						return nil, err
					}
				}
				summary, err := metrics.ReadSummary(t.store.Path(r.Point))
				if err != nil {
					return nil, err
				}
				v.add(summary)
			}
		}
		v.Trouble = t.trouble(&g)
		list = append(list, v)
	}
	return list, nil
}

func newVariant(name, folder string) *Variant {
	return &Variant{Name: name, Folder: folder, Seeds: []uint64{}, values: make(map[string]seeded), groups: make(map[string]string)}
}

// varied sets the keys, values and label of a variant of a sweep.
func (v *Variant) varied(axes []Axis, values []string) {
	v.Values = values
	for _, a := range axes {
		v.Keys = append(v.Keys, a.Key)
	}
	v.Label, v.labelled = label(v.Keys, values), v.Keys
}

func (v *Variant) add(s *metrics.Summary) {
	v.Seeds = append(v.Seeds, s.Seed)
	v.Partial = v.Partial || s.Partial
	list := metrics.Measures(s)
	v.names = union([][]string{v.names, metrics.MeasureNames(list)})
	for _, m := range list {
		v.groups[m.Name] = m.Group
		if m.Known {
			was := v.values[m.Name]
			v.values[m.Name] = seeded{append(was.seeds, s.Seed), append(was.values, m.Value)}
		}
	}
}

// ReadVariants reads result folders. A run is one variant, as is a run over seeds; a sweep
// has one variant per combination of values.
func ReadVariants(folders []string) ([]*Variant, error) {
	var list []*Variant
	for _, folder := range folders {
		found, err := readVariants(folder, len(folders) > 1)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// ScenarioOf returns the scenario name of the sweep in a folder, or "" if there is none.
func ScenarioOf(folder string) string {
	var m Manifest
	_ = readJSON(filepath.Join(folder, manifestFile), &m)
	return m.Scenario
}

func readVariants(folder string, prefix bool) ([]*Variant, error) {
	var m Manifest
	err := readJSON(filepath.Join(folder, manifestFile), &m)
	if err == nil {
		return manifestVariants(folder, &m, prefix)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	v := newVariant(filepath.Clean(folder), folder)
	if err := v.read(folder); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s has no results (expected a folder of `xoff run` or `xoff sweep`)", folder)
		}
		return nil, err
	}
	return []*Variant{v}, nil
}

// read adds the results of one run.
func (v *Variant) read(folder string) error {
	s, err := metrics.ReadSummary(folder)
	if err != nil {
		return err
	}
	if v.keys == nil {
		data, err := os.ReadFile(filepath.Join(folder, "scenario.resolved.yaml"))
		if err != nil {
			return err
		}
		if v.keys, err = flatten(data); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
	}
	v.add(s)
	v.Runs = append(v.Runs, folder)
	return nil
}

func manifestVariants(folder string, m *Manifest, prefix bool) ([]*Variant, error) {
	if m.Schema != SchemaVersion {
		return nil, fmt.Errorf("%s has a sweep of schema %d (expected %d); fix: run the sweep again", folder, m.Schema, SchemaVersion)
	}
	var list []*Variant
	at := make(map[string]*Variant)
	for _, p := range m.Points {
		if len(p.Values) != len(m.Axes) {
			return nil, fmt.Errorf("%s: damaged manifest: a point has %d values for %d keys", folder, len(p.Values), len(m.Axes))
		}
		made := newVariant("", folder)
		made.varied(m.Axes, p.Values)
		name := made.Label
		if prefix || name == "" {
			name = strings.TrimSuffix(filepath.Clean(folder)+": "+name, ": ")
		}
		v := at[name]
		if v == nil {
			v = made
			v.Name = name
			at[name] = v
			list = append(list, v)
		}
		path := filepath.Join(folder, pointsFolder, filepath.Base(p.Folder))
		if err := v.read(path); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s is not complete: %s, seed %d is missing; fix: finish the sweep with --resume",
				folder, name, p.Seed)
		} else if err != nil {
			return nil, err
		}
		var record pointRecord
		if err := readJSON(filepath.Join(path, pointFile), &record); err != nil {
			return nil, err
		}
		if v.Trouble == "" && record.Verdict.Code != 0 {
			v.Trouble = fmt.Sprintf("seed %d: %s", p.Seed, record.Verdict.Message)
		}
	}
	return list, nil
}

// Values returns the keys of a scenario, except the seed, with their values.
func Values(cfg *scenario.Config) (map[string]string, error) {
	resolved, err := cfg.Marshal()
	if err != nil {
		return nil, err
	}
	return flatten(resolved)
}

// flatten returns the keys of a resolved scenario, except the seed, with their values.
func flatten(data []byte) (map[string]string, error) {
	var doc any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	keys := make(map[string]string)
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				walk(join(path, k), item)
			}
		case []any:
			for i, item := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), item)
			}
		default:
			keys[path] = fmt.Sprint(v)
		}
	}
	walk("", doc)
	delete(keys, "seed")
	return keys, nil
}

// join appends a name to a key path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Key returns the value of a key of the resolved scenario, such as switch.policy.name.
func (v *Variant) Key(name string) (string, bool) {
	value, ok := v.keys[name]
	return value, ok
}
