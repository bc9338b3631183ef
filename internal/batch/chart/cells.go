package chart

import (
	"fmt"
	"slices"
	"strings"
)

// cell collects the values at one place of a figure: of a panel, series and x.
type cell struct {
	panel, series, x string
	metric           *metric
	sources          []source
	values           []float64 // numbers, one per source
	runs             []rows    // columns, one per source
	agree            *record   // the first run
}

// source is where a value comes from.
type source struct {
	record *record
	metric string // full name of a number, or column
	where  [][2]string
}

// collect returns the cells of a plan, in the order of metrics, runs and parts.
func (d *Data) collect(p *plan) ([]*cell, error) {
	var list []*cell
	at := make(map[[3]string]*cell)
	add := func(m *metric, r *record, one part, where [][2]string) (*cell, error) {
		value := func(key string) string {
			if key == keyWorkload || key == keySize {
				return one.of(key)
			}
			return r.value(key)
		}
		var values []string
		for _, k := range p.by {
			values = append(values, value(k))
		}
		keys := slices.Clone(p.by)
		for _, w := range where {
			if w[0] != keyWorkload || slices.Contains(p.rows, keyWorkload) {
				keys, values = append(keys, w[0]), append(values, w[1])
			}
		}
		c := &cell{metric: m, series: d.seriesName(keys, values), agree: r}
		if p.panels != "" {
			c.panel = d.seriesName([]string{p.panels}, []string{value(p.panels)})
		}
		if len(p.metrics) > 1 {
			c.panel = strings.TrimPrefix(c.panel+", "+d.label(m).Label, ", ")
		}
		if p.x != "" {
			c.x = value(p.x)
		}
		id := [3]string{c.panel, c.series, c.x}
		if old := at[id]; old != nil {
			return old, d.mixed(p, old.agree, r)
		}
		at[id] = c
		list = append(list, c)
		return c, nil
	}
	for _, m := range p.metrics {
		m.timed = p.Kind == "time"
		for _, r := range d.records {
			for _, one := range p.parts {
				if err := m.collect(p, r, one, add); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, nil
}

// collect adds the values of a run.
func (m *metric) collect(p *plan, r *record, one part, add func(*metric, *record, part, [][2]string) (*cell, error)) error {
	if m.perRun() {
		name := one.prefix() + m.name
		v, ok := r.values[name]
		c, err := add(m, r, one, nil)
		if err == nil && ok {
			c.sources = append(c.sources, source{r, name, nil})
			c.values = append(c.values, v)
		}
		return err
	}
	groups, err := m.read(r, one.workload, p.rows)
	for _, g := range groups {
		c, wrong := add(m, r, one, g.where)
		if wrong != nil {
			return wrong
		}
		c.sources = append(c.sources, source{r, m.name, g.where})
		c.runs = append(c.runs, g)
	}
	return err
}

// mixed returns an error if two runs at the same place differ in more than their seed.
func (d *Data) mixed(p *plan, a, b *record) error {
	for _, key := range d.varied {
		if va, vb := a.value(key), b.value(key); va != vb {
			return fmt.Errorf("runs with %s %s and %s would be averaged (expected %s in --x, --by or --panels, or --where %s=%s)", key, va, vb, key, key, va)
		}
	}
	return nil
}
