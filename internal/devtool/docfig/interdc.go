package main

import "github.com/xoff-net/xoff/internal/render/plot"

// drain shows the queue in front of a link that the receiving host pauses from 4 to 8 ms
// (Bifrost, Fig. 2 and 7).
func drain(r *runner) (*plot.Figure, error) {
	p := plot.Panel{Kind: plot.Lines, X: plot.Axis{Label: "time", Unit: plot.Seconds}, Y: plot.Axis{Label: "stored", Unit: plot.Bytes}}
	const bifrost = `switch.overrides=[{match: "switch*.to-switch*", flow_control: {name: bifrost, buffer: bdp+2}}]`
	for _, c := range []struct {
		name string
		set  string
	}{
		{"PFC, 2 BDP", "switch.policy.limit=10MB"},
		{"PFC, 1 BDP", "switch.policy.limit=100KB"},
		{"Bifrost, BDP + 2 slots", bifrost},
	} {
		folder, err := r.example("bifrost-drain", c.set, "run.stop={when: time, at_most: 12ms}",
			"probes=[{name: occupancy, where: switch1.port1, by: [port], every: 20us, zeros: true}]")
		if err != nil {
			return nil, err
		}
		x, y, err := samples(folder, "occupancy", "bytes", nil, nil)
		if err != nil {
			return nil, err
		}
		p.Series = append(p.Series, plot.Series{Name: c.name, X: x, Y: y, Style: plot.Style{Plain: true}})
	}
	return &plot.Figure{Title: "Queue in front of a link that is paused from 4 to 8 ms; 100 Gbps, 80 km", Panels: []plot.Panel{p}}, nil
}
