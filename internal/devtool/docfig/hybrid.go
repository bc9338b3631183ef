package main

import (
	"fmt"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/metrics"
)

const (
	rdma = 3 // lossless class of examples/sharing.yaml
	tcp  = 1 // lossy class
)

// issues shows the bytes in lossless and lossy queues while the number of lossless, then of
// lossy queues grows (Reverie section 2.1), under SONiC's pools and under Reverie.
func issues(r *runner) (*plot.Figure, error) {
	f := &plot.Figure{Title: "One lossy queue; four lossless queues join at 2 ms, another lossy queue at 4 ms"}
	for _, c := range []struct{ policy, title string }{{"sonic", "SONiC's pools"}, {"reverie", "Reverie"}} {
		folder, err := r.example("sharing", "switch.policy={name: "+c.policy+"}", "run.arrivals=5ms",
			"workload.lossless.start=2ms", "workload.more.start=4ms", "probes=[{name: occupancy, by: [class], every: 20us, zeros: true}]")
		if err != nil {
			return nil, err
		}
		p := plot.Panel{Title: c.title, Kind: plot.Lines, X: plot.Axis{Label: "time", Unit: plot.Seconds}, Y: plot.Axis{Label: "stored", Unit: plot.Bytes}}
		for _, k := range []struct {
			name  string
			class float64
		}{{"lossless", rdma}, {"lossy", tcp}} {
			x, y, err := samples(folder, "occupancy", "bytes", map[string]float64{"class": k.class}, nil)
			if err != nil {
				return nil, err
			}
			p.Series = append(p.Series, plot.Series{Name: k.name, X: x, Y: y, Style: plot.Style{Plain: true}})
		}
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}

// burst shows a lossless ingress queue and its threshold while four hosts send 200 KB each
// at once. Two lossy queues are always full.
func burst(r *runner) (*plot.Figure, error) {
	f := &plot.Figure{Title: "An RDMA burst on top of steady TCP: one of its four ingress queues"}
	for _, c := range []struct {
		policy, title string
		gauges        []string
	}{
		{"sonic", "SONiC's pools", []string{"queue_bytes", "threshold_bytes"}},
		{"reverie", "Reverie", []string{"queue_bytes", "filtered_bytes", "threshold_bytes"}},
	} {
		folder, err := r.example("sharing", "switch.policy={name: "+c.policy+"}", "run.arrivals=1100us",
			`workload=[{name: lossy, generator: long_lived, from: "host[45]", to: host9, class: tcp},
			{name: more, generator: long_lived, from: "host[67]", to: host10, class: tcp},
			{name: burst, generator: incast, senders: 4, size: 200KB, from: "host[0-3]", to: host8, class: rdma, at: 1ms}]`,
			"run.stop={when: time, at_most: 1400us}", "probes=[{name: gauges, every: 1us, from: 980us}]")
		if err != nil {
			return nil, err
		}
		summary, err := metrics.ReadSummary(folder)
		if err != nil {
			return nil, err
		}
		p := plot.Panel{Title: fmt.Sprintf("%s: %d pauses", c.title, summary.Pauses.Pauses), Kind: plot.Lines,
			X: plot.Axis{Label: "time", Unit: plot.Seconds}, Y: plot.Axis{Label: "bytes", Unit: plot.Bytes}}
		for _, g := range c.gauges {
			x, y, err := samples(folder, "gauges", "value", map[string]float64{"port": 0, "class": rdma}, map[string]string{"gauge": g})
			if err != nil {
				return nil, err
			}
			p.Series = append(p.Series, plot.Series{Name: map[string]string{
				"queue_bytes": "queue", "filtered_bytes": "filtered length", "threshold_bytes": "threshold"}[g], X: x, Y: y, Style: plot.Style{Plain: true}})
		}
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}
