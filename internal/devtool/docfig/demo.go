package main

import (
	"fmt"
	"os"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/runreport"
)

// demo compares the slowdown of the demo's flows with and without PFC.
func demo(r *runner) (*plot.Figure, error) {
	text, err := os.ReadFile("cli/demo.yaml")
	if err != nil {
		return nil, err
	}
	p := plot.Panel{
		Kind: plot.CDF,
		X:    plot.Axis{Label: "slowdown (FCT over ideal FCT)", Log: true},
		Y:    plot.Axis{Label: "flows"},
	}
	for _, c := range []struct {
		name, colour string
		set          []string
	}{
		{"with PFC", "PFC", nil},
		{"without", "none", []string{"switch.flow_control.name=none"}},
	} {
		folder, err := r.run("demo.yaml", text, c.set)
		if err != nil {
			return nil, err
		}
		curves, err := slowdowns(folder, c.name, c.colour)
		if err != nil {
			return nil, err
		}
		p.Series = append(p.Series, curves...)
	}
	return &plot.Figure{Title: "Slowdown of flows: 16-to-1 incasts on top of web search", Panels: []plot.Panel{p}}, nil
}

// slowdowns returns a curve with the slowdowns of each workload of a run.
func slowdowns(folder, name, colour string) ([]plot.Series, error) {
	list, err := runreport.ReadSlowdowns(folder)
	if err != nil {
		return nil, err
	}
	var curves []plot.Series
	for _, w := range list {
		dash := plot.Dashed
		if w.Workload == "incast" {
			dash = plot.Solid
		}
		curves = append(curves, plot.Series{Name: w.Workload + " " + name, X: w.Values, Style: plot.Style{Like: colour, Dash: dash}})
	}
	if len(curves) != 2 {
		return nil, fmt.Errorf("%s has %d workloads (expected 2)", folder, len(curves))
	}
	return curves, nil
}
