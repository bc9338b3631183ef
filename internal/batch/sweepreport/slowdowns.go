package sweepreport

import (
	"math"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/internal/render/runreport"
)

// axisOf returns the axis of a metric, by the unit at the end of its name.
func axisOf(metric string) plot.Axis {
	switch {
	case strings.HasSuffix(metric, "_bytes"):
		return plot.Axis{Label: "bytes", Unit: plot.Bytes}
	case strings.Contains(metric, "_bps"):
		return plot.Axis{Label: "bit/s", Unit: plot.BitRate}
	case strings.Contains(metric, "_ps"):
		return plot.Axis{Label: "time", Unit: plot.Seconds}
	}
	return plot.Axis{Label: metric[strings.LastIndexByte(metric, '.')+1:]}
}

// sizeBins is the number of flow sizes in a figure of slowdown by size.
const sizeBins = 8

// slowdowns draws, with a panel per workload and a curve per variant, the distribution of
// slowdown and its 99th percentile by flow size. It returns nil if there are too many variants
// or runs.
func slowdowns(variants []*sweep.Variant, names []string) ([]*report.Figure, error) {
	n := 0
	for _, v := range variants {
		n += len(v.Runs)
	}
	if len(variants) > runreport.MaxCurves || n > maxRuns || n == 0 {
		return nil, nil
	}
	var workloads []string
	flows := make([][]map[string]runreport.Slowdowns, len(variants)) // by variant, run and workload
	for i, v := range variants {
		for _, folder := range v.Runs {
			list, err := runreport.ReadSlowdowns(folder)
			if err != nil {
				return nil, err
			}
			of := make(map[string]runreport.Slowdowns)
			for _, w := range list {
				of[w.Workload] = w
				if !slices.Contains(workloads, w.Workload) {
					workloads = append(workloads, w.Workload)
				}
			}
			flows[i] = append(flows[i], of)
		}
	}
	if len(workloads) > maxPanels {
		workloads = workloads[:maxPanels]
	}
	shares := &plot.Figure{Colours: colours.Of, Title: "Distribution of slowdown by workload"}
	sizes := &plot.Figure{Colours: colours.Of, Title: "Slowdown by flow size, 99th percentile"}
	for _, w := range workloads {
		shares.Panels = append(shares.Panels, distribution(w, flows, names))
		if p := bySize(w, flows, names); p != nil {
			sizes.Panels = append(sizes.Panels, *p)
		}
	}
	list := []*report.Figure{{Name: "slowdown", Plot: shares,
		Caption: "Mean over the seeds of a variant; the band spans them. Flows that did not finish are beyond the right edge."}}
	if len(sizes.Panels) > 0 {
		list = append(list, &report.Figure{Name: "slowdown-by-size", Plot: sizes,
			Caption: "Each point has an equal share of the flows, at their median size, over all seeds. A curve has a gap where flows did not finish."})
	}
	return list, nil
}

// distribution returns the panel of a workload with a curve per variant.
func distribution(workload string, flows [][]map[string]runreport.Slowdowns, names []string) plot.Panel {
	p := plot.Panel{Title: workload, Kind: plot.CDF, X: plot.Axis{Label: "slowdown", Log: true}, Y: plot.Axis{Label: "flows"}}
	for i, runs := range flows {
		var values [][]float64
		for _, of := range runs {
			values = append(values, of[workload].Values)
		}
		s := plot.Spread(names[i], values...)
		if len(runs) < 2 {
			s.Low, s.High = nil, nil
		}
		p.Series = append(p.Series, s)
	}
	return p
}

// bySize returns the panel of a workload with its tail by flow size, or nil if all flows have
// the same size. All variants share the bins: equal shares of all flows.
func bySize(workload string, flows [][]map[string]runreport.Slowdowns, names []string) *plot.Panel {
	var all []float64
	for _, runs := range flows {
		for _, of := range runs {
			all = append(all, of[workload].Sizes...)
		}
	}
	slices.Sort(all)
	if len(all) == 0 || all[0] == all[len(all)-1] {
		return nil
	}
	var edges, middles []float64 // a bin has sizes up to its edge
	for from := 0; from < len(all); {
		to := min(len(all), max(from+1, (len(edges)+1)*len(all)/sizeBins))
		for to < len(all) && all[to] == all[to-1] {
			to++
		}
		edges, middles = append(edges, all[to-1]), append(middles, all[(from+to)/2])
		from = to
	}
	p := &plot.Panel{Title: workload, X: plot.Axis{Label: "flow size", Unit: plot.Bytes, Log: true}, Y: plot.Axis{Label: "slowdown", Log: true}}
	for i, runs := range flows {
		bins := make([][]float64, len(edges))
		for _, of := range runs {
			for k, size := range of[workload].Sizes {
				b, _ := slices.BinarySearch(edges, size)
				bins[b] = append(bins[b], of[workload].Values[k])
			}
		}
		s := plot.Series{Name: names[i], X: middles}
		for _, values := range bins {
			y := math.NaN()
			if slices.Sort(values); len(values) > 0 {
				y = values[(len(values)*99+99)/100-1]
			}
			if math.IsInf(y, 1) {
				y = math.NaN()
			}
			s.Y = append(s.Y, y)
		}
		p.Series = append(p.Series, s)
	}
	return p
}
