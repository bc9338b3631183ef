package scenario

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/sim"
)

// Probe watches some nodes of a run and writes what it sees into a file of its
// own.
type Probe struct {
	Choice `yaml:",inline"`
	As     string     `yaml:"as" doc:"its file is probe-AS; default: its name"`
	Where  string     `yaml:"where" doc:"nodes or ports by pattern; default: all it can watch"`
	From   units.Time `yaml:"from" doc:"only rows from then on"`
	To     units.Time `yaml:"to,omitempty" doc:"only rows before; default: to the end"`
}

var probeKeys = []string{"as", "where", "from", "to"}

// decodeEntries reads `{name: occupancy, where: "leaf*", by: [port], every: 10us}`.
func (p *Probe) decodeEntries(d *decoder, entries []entry, path string) error {
	named := p.Name != ""
	for _, e := range entries {
		named = named || e.key == "name"
	}
	if !named {
		return d.fail(d.src.find(path), path, "the probe has no name; allowed: %s", strings.Join(probe.Kinds.Names(), ", "))
	}
	return p.decodeBeside(d, entries, path, reflect.ValueOf(p).Elem(), probeKeys)
}

func (p *Probe) part(key string) (reflect.Value, bool) {
	if v, ok := field(reflect.ValueOf(p).Elem(), key); ok {
		return v, true
	}
	return p.Choice.part(key)
}

func (p Probe) plain() (any, error) {
	beside := yaml.MapSlice{{Key: "as", Value: p.As}, {Key: "where", Value: p.Where}, {Key: "from", Value: p.From.String()}}
	if p.To != 0 {
		beside = append(beside, yaml.MapItem{Key: "to", Value: p.To.String()})
	}
	return p.Choice.plain(beside)
}

// resolve fills in what is open.
func (p *Probe) resolve() {
	if p.As == "" {
		p.As = p.Name
	}
	if p.Where == "" {
		p.Where = "*"
	}
}

// plan is a probe whose parameters and places are known.
type plan struct {
	*Probe
	kind  *probe.Kind
	ports [][]bool // by node
}

// probePlans checks the probes of a scenario.
func (b *builder) probePlans() ([]plan, error) {
	var plans []plan
	taken := make(map[string]int)
	for i := range b.cfg.Probes {
		p := b.cfg.Probes[i]
		p.resolve()
		path := fmt.Sprintf("probes[%d]", i)
		if !isGroupName(p.As) {
			return nil, atf(path+".as", "%q cannot name a file; allowed: a letter, then letters, digits, - and _", p.As)
		}
		if other, ok := taken[p.As]; ok {
			return nil, atf(path, "probes[%d] writes probe-%s already; allowed: another name by the key as", other, p.As)
		}
		taken[p.As] = i
		entry, err := probe.Kinds.Get(p.Name)
		if err != nil {
			return nil, at(path+".name", err)
		}
		kind, err := entry.New(p.Params)
		if err != nil {
			return nil, p.Choice.wrong(path, err)
		}
		if err := first(span(path+".from", p.From), span(path+".to", p.To)); err != nil {
			return nil, err
		}
		if p.To != 0 && p.To <= p.From {
			return nil, atf(path+".to", "from %s to %s is no time; allowed: from before to", p.From, p.To)
		}
		ports, err := b.graph.PortsLike(p.Where)
		if err != nil {
			return nil, at(path+".where", err)
		}
		found := false
		for node := range ports {
			if b.site(node)&kind.At == 0 {
				ports[node] = nil
			}
			found = found || ports[node] != nil
		}
		if !found {
			sites := map[probe.Sites]string{probe.Hosts: "hosts", probe.Switches: "switches"}
			return nil, atf(path+".where", "%q means none that %s can watch; allowed: %s", p.Where, p.Name, sites[kind.At])
		}
		plans = append(plans, plan{&p, kind, ports})
	}
	return plans, nil
}

func (b *builder) checkProbes() error {
	_, err := b.probePlans()
	return err
}

func (b *builder) site(node int) probe.Sites {
	if node < b.graph.Hosts {
		return probe.Hosts
	}
	return probe.Switches
}

// probes places the probes of the scenario: each node has a list of those that
// want its events, samples are in the schedule of the run.
func (b *builder) probes(spec *sim.Spec) error {
	plans, err := b.probePlans()
	if err != nil {
		return err
	}
	for _, p := range plans {
		series := metrics.NewSeries("probe-"+p.As, b.graph.Names, p.kind.Columns)
		b.out.Probes = append(b.out.Probes, series)
		to := p.To
		if to == 0 {
			to = units.Never
		}
		for node, ports := range p.ports {
			if ports == nil {
				continue
			}
			place := &probe.Place{Host: node < b.graph.Hosts, Ports: ports, Out: series.Recorder(node, p.From, to)}
			w := p.kind.Watch(place)
			series.Watch(w)
			if p.kind.Every > 0 {
				spec.Samples = append(spec.Samples, sim.Sample{Node: node, Every: p.kind.Every, Take: func(now units.Time, n probe.Node) {
					place.Node = n
					w.Sample(now)
				}})
			}
			if p.kind.Events {
				b.watch(node, &placed{w, place})
			}
		}
	}
	return nil
}

// placed is a probe that learns of its node.
type placed struct {
	probe.Watcher
	place *probe.Place
}

// Attach implements probe.Attached.
func (p *placed) Attach(n probe.Node) { p.place.Node = n }

// watch adds a sink to those of a node.
func (b *builder) watch(node int, s probe.Sink) {
	if b.watching == nil {
		b.watching = make([]probe.Fan, b.graph.Nodes())
	}
	b.watching[node] = append(b.watching[node], s)
}

// sink returns what watches a node; nil for nothing.
func (b *builder) sink(node int) probe.Sink {
	var list probe.Fan
	if b.watching != nil {
		list = b.watching[node]
	}
	if b.opts.Sink != nil {
		if s := b.opts.Sink(node); s != nil {
			list = append(list, s)
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return list
}
