package fabric

import (
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/sim"
)

// probes attaches the probes of the scenario: it adds probes of events to the sinks of
// nodes, and samples to the spec.
func (b *builder) probes(spec *sim.Spec) error {
	plans, err := b.Probes()
	if err != nil {
		return err
	}
	for _, p := range plans {
		series := metrics.NewSeries("probe-"+p.As, b.Graph.Names, p.Kind.Columns)
		b.out.Probes = append(b.out.Probes, series)
		to := p.To
		if to == 0 {
			to = units.Never
		}
		for node, ports := range p.Ports {
			if ports == nil {
				continue
			}
			place := &probe.Target{Host: node < b.Graph.Hosts, Ports: ports, Out: series.Recorder(node, p.From, to)}
			w := p.Kind.Watch(place)
			series.Watch(w)
			if p.Kind.Every > 0 {
				spec.Samples = append(spec.Samples, sim.Sample{Node: node, Every: p.Kind.Every, Take: func(now units.Time, n probe.Node) {
					place.Node = n
					w.Sample(now)
				}})
			}
			if p.Kind.Events {
				b.watch(node, &placed{w, place})
			}
		}
	}
	return nil
}

// placed is a probe of events that is told its node.
type placed struct {
	probe.Watcher
	place *probe.Target
}

// Attach implements probe.Attached.
func (p *placed) Attach(n probe.Node) { p.place.Node = n }

// watch adds a sink to a node.
func (b *builder) watch(node int, s probe.Sink) {
	if b.watching == nil {
		b.watching = make([]probe.Fan, b.Graph.Nodes())
	}
	b.watching[node] = append(b.watching[node], s)
}

// sink returns the sink for all events of a node, or nil if nothing watches it.
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
