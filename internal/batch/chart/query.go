package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/render/plot"
)

// Kinds are the kinds of figures.
var Kinds = []string{"cdf", "lines", "bars", "box", "time", "heat"}

// Logs are the values of Query.Log.
var Logs = []string{"x", "y", "x,y", "none"}

// Query describes a figure. Empty fields are chosen by the data.
type Query struct {
	Kind      string
	X         string   // key
	Y         []string // metrics, one panel each
	By        []string // keys that distinguish series
	Panels    string   // key that distinguishes panels
	Workloads []string // parts of the flows; several are panels
	Log       string
	Title     string
	XLabel    string
	YLabel    string
	Print     *plot.Print
}

// check checks the words of a query.
func (q *Query) check() error {
	if q.Kind != "" && !slices.Contains(Kinds, q.Kind) {
		return registry.Unknown("kind of figure", q.Kind, Kinds)
	}
	if q.Log != "" && q.Log != "y,x" && !slices.Contains(Logs, q.Log) {
		return registry.Unknown("axis", q.Log, Logs)
	}
	return nil
}

// plan is a query with all choices made.
type plan struct {
	*Query
	metrics []*metric
	x       string   // "" for cdf and time
	by      []string // keys
	rows    []string // columns of the table that distinguish series
	panels  string
	parts   []part
}

// plan chooses what the query leaves open.
func (d *Data) plan(q *Query) (*plan, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	p := &plan{Query: q}
	if err := d.chooseParts(p); err != nil {
		return nil, err
	}
	if err := d.chooseMetrics(p); err != nil {
		return nil, err
	}
	if err := d.chooseKeys(p); err != nil {
		return nil, err
	}
	return p, nil
}

// chooseParts checks the workloads, and makes several of them panels.
func (d *Data) chooseParts(p *plan) error {
	for _, w := range p.Workloads {
		if !slices.Contains(d.workloads, w) {
			if len(d.workloads) == 0 {
				return fmt.Errorf("stored results have no workloads (expected --where KEY=VALUE; keys: %s)", strings.Join(d.Keys(), ", "))
			}
			return registry.Unknown("workload", w, d.workloads)
		}
	}
	if p.panels = p.Panels; len(p.Workloads) > 1 && p.panels == "" && p.X != keyWorkload && !slices.Contains(p.By, keyWorkload) {
		p.panels = keyWorkload
	}
	p.parts = []part{{}}
	uses := func(key string) bool { return p.X == key || p.panels == key || slices.Contains(p.By, key) }
	switch {
	case uses(keyWorkload):
		list := p.Workloads
		if len(list) == 0 {
			list = d.workloads
		}
		p.parts = nil
		for _, w := range list {
			p.parts = append(p.parts, part{workload: w})
		}
	case len(p.Workloads) == 1:
		p.parts[0].workload = p.Workloads[0]
	}
	if uses(keySize) {
		var list []part
		for _, one := range p.parts {
			for _, s := range d.sizes {
				list = append(list, part{one.workload, s})
			}
		}
		p.parts = list
	}
	if len(p.parts) == 0 {
		return fmt.Errorf("the results have no workloads or sizes (expected keys: %s)", strings.Join(d.Keys(), ", "))
	}
	return nil
}

func (d *Data) chooseMetrics(p *plan) error {
	typed := p.Y
	if len(typed) == 0 {
		if d.records[0].stored != nil {
			_, err := d.number("", part{})
			return fmt.Errorf("--y is missing: %w", err)
		}
		typed = []string{"slowdown"}
		if p.Kind == "lines" || p.Kind == "bars" || p.Kind == "heat" || p.Kind == "" && p.X != "" {
			typed = []string{"slowdown.p99"}
		}
	}
	for _, y := range typed {
		m, err := d.choose(y, p.Kind, p.parts[0])
		if err != nil {
			return err
		}
		if len(p.metrics) > 0 && p.metrics[0].perRun() != m.perRun() {
			return fmt.Errorf("%s and %s cannot be in one figure (expected numbers per run only, or columns only)", p.metrics[0].typed, y)
		}
		if !m.perRun() && p.parts[0].size != "" {
			return fmt.Errorf("size is no key of column %s (expected a number such as %s.p99)", y, y)
		}
		p.metrics = append(p.metrics, m)
	}
	if first := p.metrics[0]; p.Kind == "" {
		switch {
		case first.perRun():
			p.Kind = "" // by the x axis
		case strings.HasPrefix(first.table, probePrefix) && p.X == "":
			p.Kind = "time"
		case p.X != "":
			p.Kind = "box"
		default:
			p.Kind = "cdf"
		}
	}
	return nil
}

// chooseKeys chooses the axis and the keys of series.
func (d *Data) chooseKeys(p *plan) error {
	var err error
	if p.panels != "" {
		if p.panels, err = d.key(p.panels); err != nil {
			return err
		}
	}
	flat := p.Kind == "cdf" || p.Kind == "time"
	if flat && p.X != "" {
		return fmt.Errorf("--x %s has no effect with --kind %s (expected --by or --panels)", p.X, p.Kind)
	}
	for _, name := range p.By {
		key, err := d.key(name)
		if err == nil {
			p.by = append(p.by, key)
			continue
		}
		if groups := p.metrics[0].groups; slices.Contains(groups, name) && flat {
			p.rows = append(p.rows, name)
			continue
		} else if flat && len(groups) > 0 {
			return registry.Unknown("key or column", name, slices.Concat(d.Keys(), groups))
		}
		return err
	}
	if p.X != "" {
		if p.x, err = d.key(p.X); err != nil {
			return err
		}
	} else if !flat {
		p.x = d.axis(p)
	}
	if p.Kind == "" {
		p.Kind = "bars"
		values := d.xLevels(p)
		if _, _, ok := quantities(values); ok && len(values) > 2 {
			p.Kind = "lines"
		}
	}
	d.chooseSeries(p, flat)
	for i, key := range p.by {
		if key == p.x || key == p.panels || slices.Contains(p.by[:i], key) {
			return fmt.Errorf("key %s is used twice (expected different keys in --x, --by and --panels)", key)
		}
	}
	if p.x != "" && p.x == p.panels {
		return fmt.Errorf("key %s is used twice (expected different keys in --x, --by and --panels)", p.x)
	}
	if p.Kind == "heat" && len(p.by) == 0 {
		return fmt.Errorf("a heat map needs two keys (expected --x KEY --by KEY; keys: %s)", strings.Join(d.Keys(), ", "))
	}
	return nil
}

// chooseSeries distinguishes series by the keys that differ and are not used otherwise.
func (d *Data) chooseSeries(p *plan, flat bool) {
	if len(p.By) > 0 {
		return
	}
	for _, key := range d.varied {
		if key != p.x && key != p.panels && len(d.levels(key)) > 1 {
			p.by = append(p.by, key)
		}
	}
	columns := p.metrics[0].groups
	switch {
	case !flat || len(p.by) > 0:
	case p.Kind == "time" && slices.Contains(columns, "node"):
		p.rows = []string{"node"}
	case p.Kind == "cdf" && len(p.Workloads) == 0 && p.panels != keyWorkload && slices.Contains(columns, keyWorkload):
		p.rows = []string{keyWorkload}
	}
}

// axis returns the key of the x axis: the one with most numbers, or the first that differs.
func (d *Data) axis(p *plan) string {
	best, most, first := "", 2, ""
	for _, key := range d.varied {
		values := d.levels(key)
		if key == p.panels || slices.Contains(p.by, key) || len(values) < 2 {
			continue
		}
		if first == "" {
			first = key
		}
		if _, _, ok := quantities(values); ok && len(values) > most {
			best, most = key, len(values)
		}
	}
	switch {
	case best != "":
		return best
	case first != "":
		return first
	}
	return keyRun
}

// xLevels returns the values of the x axis, in order.
func (d *Data) xLevels(p *plan) []string {
	switch p.x {
	case "":
		return nil
	case keyWorkload, keySize:
		var list []string
		for _, one := range p.parts {
			v := one.of(p.x)
			if !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
		return list
	}
	return ordered(d.levels(p.x))
}

// of returns the name of the part for the key workload or size.
func (p part) of(key string) string {
	if key == keySize {
		return p.size
	}
	return p.workload
}
