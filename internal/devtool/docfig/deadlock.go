package main

import (
	"fmt"

	"github.com/xoff-net/xoff/internal/render/plot"
)

// steps shows one deadlock of examples/roundabout-ring.yaml: how it forms, and how it is
// found and resolved. The last panel compares the whole run with one without a handler.
func steps(r *runner) (*plot.Figure, error) {
	probes := `probes=[{name: events}, {name: occupancy, where: "switch*", by: [class], every: 1us, zeros: true}]`
	until := "run.stop={when: all_flows_done, at_most: 30ms}"
	with, err := r.example("roundabout-ring", "switch.pfc.coalesce=false", "switch.deadlock={name: roundabout}", until, probes)
	if err != nil {
		return nil, err
	}
	without, err := r.example("roundabout-ring", "switch.pfc.coalesce=false", until, probes)
	if err != nil {
		return nil, err
	}
	forms, err := switches(with, "it forms", 0, 140e-6)
	if err != nil {
		return nil, err
	}
	found, err := switches(with, "it is found and resolved", 130e-6, 1000e-6)
	if err != nil {
		return nil, err
	}
	// Draw each kind of event as points on a line below the queues.
	for i, event := range []string{"detected", "confirmed", "round begun", "round ended"} {
		x, y, err := samples(with, "events", "number", nil, map[string]string{"event": event})
		if err != nil {
			return nil, err
		}
		for k := range y {
			y[k] = -8e3 * float64(i+1)
		}
		x, y = between(x, y, 130e-6, 1000e-6)
		found.Series = append(found.Series, plot.Series{Name: event, X: x, Y: y, Style: plot.Style{Points: true}})
	}
	whole := plot.Panel{Title: "with and without Roundabout", Kind: plot.Lines, X: plot.Axis{Label: "time", Unit: plot.Seconds}, Y: plot.Axis{Label: "stored in the ring", Unit: plot.Bytes}}
	for _, c := range []struct{ name, folder string }{{"Roundabout", with}, {"none", without}} {
		x, y, err := ringTotal(c.folder)
		if err != nil {
			return nil, err
		}
		whole.Series = append(whole.Series, plot.Series{Name: c.name, X: x, Y: y, Style: plot.Style{Plain: true}})
	}
	return &plot.Figure{Title: "A deadlock in a ring of four switches", Panels: []plot.Panel{forms, found, whole}}, nil
}

// switches draws the bytes stored by each switch of the ring between two times.
func switches(folder, title string, from, to float64) (plot.Panel, error) {
	p := plot.Panel{Title: title, Kind: plot.Lines, X: plot.Axis{Label: "time", Unit: plot.Seconds}, Y: plot.Axis{Label: "stored", Unit: plot.Bytes}}
	for i := range 4 {
		name := fmt.Sprintf("switch%d", i)
		x, y, err := samples(folder, "occupancy", "bytes", map[string]float64{"class": 1}, map[string]string{"node": name})
		if err != nil {
			return p, err
		}
		x, y = between(x, y, from, to)
		p.Series = append(p.Series, plot.Series{Name: name, X: x, Y: y, Style: plot.Style{Plain: true}})
	}
	return p, nil
}

// between returns the points whose x is between from and to.
func between(x, y []float64, from, to float64) (tx, ty []float64) {
	for i, t := range x {
		if from <= t && t <= to {
			tx, ty = append(tx, t), append(ty, y[i])
		}
	}
	return tx, ty
}

// ringTotal returns the bytes that all switches store together, every 50 us.
func ringTotal(folder string) (x, y []float64, err error) {
	for i := range 4 {
		name := fmt.Sprintf("switch%d", i)
		t, bytes, err := samples(folder, "occupancy", "bytes", map[string]float64{"class": 1}, map[string]string{"node": name})
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			y = make([]float64, (len(t)+49)/50)
			for k := range y {
				x = append(x, t[50*k])
			}
		}
		for k := range y {
			y[k] += bytes[50*k]
		}
	}
	return x, y, nil
}
