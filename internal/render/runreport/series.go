package runreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
)

// series returns the section with a figure for every probe.
func (r *Run) series() ([]report.Section, error) {
	files, err := r.probes()
	if err != nil || len(files) == 0 {
		return nil, err
	}
	sec := report.Section{Heading: "Probes"}
	for i, file := range files {
		t, err := r.readProbe(file)
		if err != nil {
			return nil, err
		}
		switch {
		case t.rows == nil && t.count > 0:
			sec.Add(report.Paragraph(fmt.Sprintf("`%s` has %s rows; `xoff report` draws them.", file, units.Thousands(uint64(t.count)))))
		case t.count == 0:
			sec.Add(report.Paragraph(fmt.Sprintf("`%s` has no rows.", file)))
		default:
			sec.Add(&report.Figure{
				Name: fmt.Sprintf("probe-%d", i+1), Plot: t.figure(r.Summary.End),
				Caption: fmt.Sprintf("`%s`, %s rows", file, units.Thousands(uint64(t.count))),
			})
		}
	}
	return []report.Section{sec}, nil
}

// shownSeries is the number of series that are drawn of a probe.
const shownSeries = 6

// figure returns the figure of a probe. Its kind depends on the columns.
func (t *probeTable) figure(runEnd units.Time) *plot.Figure {
	var p plot.Panel
	switch {
	case t.columns["episode"]:
		p = t.spread("headroom peak", plot.Bytes, func(s *sample) float64 { return float64(s.Bytes) })
	case t.columns["arrived_bytes"]:
		p = t.spread("time in OFF", plot.Seconds, func(s *sample) float64 { return units.Time(s.Time - s.Start).Seconds() })
	case t.columns["xoff_bytes"]:
		p = t.thresholds()
	case t.columns["rate_bps"]:
		p = t.lines("rate", plot.BitRate, longest, func(s *sample) float64 { return float64(s.FlowRate) })
	case t.columns["bps"]:
		p = t.lines("rate", plot.BitRate, highest, func(s *sample) float64 { return float64(s.Rate) })
	case t.columns["bytes"]:
		p = t.lines("bytes", plot.Bytes, highest, func(s *sample) float64 { return float64(s.Bytes) })
	default:
		p = t.events(runEnd)
	}
	return &plot.Figure{Colours: colours.Of, Title: t.name, Panels: []plot.Panel{p}}
}

// label returns the name of the series that a row belongs to.
func (t *probeTable) label(s *sample) string {
	name := s.Node
	if t.columns["flow"] && t.columns["rate_bps"] {
		return fmt.Sprintf("flow %d", s.Flow)
	}
	if t.columns["port"] {
		if known, ok := t.ports[portKey{s.Node, s.Port}]; ok {
			name = known.name
		} else {
			name += fmt.Sprintf(".port%d", s.Port)
		}
	}
	if t.columns["class"] {
		name += fmt.Sprintf(" class %d", s.Class)
	}
	if t.columns["pool"] {
		name += " " + s.Pool
	}
	return name
}

// group has the rows of one label.
type group struct {
	name string
	x, y []float64
	most float64
}

// groups groups rows by label; the group with the largest value comes first.
func (t *probeTable) groups(x, y func(*sample) float64) []group {
	at := make(map[string]int)
	var list []group
	for i := range t.rows {
		s := &t.rows[i]
		name := t.label(s)
		k, ok := at[name]
		if !ok {
			k = len(list)
			at[name] = k
			list = append(list, group{name: name, most: math.Inf(-1)})
		}
		g := &list[k]
		v := y(s)
		g.x, g.y, g.most = append(g.x, x(s)), append(g.y, v), max(g.most, v)
	}
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(b.most, a.most) })
	return list
}

func seconds(s *sample) float64 { return units.Time(s.Time).Seconds() }

// Selection of series, if there are too many.
const (
	highest = "series with the highest peaks"
	longest = "series with the most samples"
)

// lines draws samples over time. Files omit samples of value 0, so the line is 0 where
// samples are missing. For flows, a missing sample is a gap: the flow has ended.
func (t *probeTable) lines(what string, unit plot.Unit, which string, value func(*sample) float64) plot.Panel {
	p := plot.Panel{X: clock(t.end), Y: plot.Axis{Label: what, Unit: unit}}
	period := t.period()
	list := t.groups(seconds, value)
	if which == longest {
		slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(len(b.x), len(a.x)) })
	}
	for _, g := range list[:min(shownSeries, len(list))] {
		s := plot.Series{Name: g.name, Style: plot.Style{Plain: true}}
		for i := range g.x {
			if i > 0 && g.x[i]-g.x[i-1] > 1.5*period {
				fill := math.NaN()
				if which == highest {
					fill = 0
				}
				s.X, s.Y = append(s.X, g.x[i-1]+period, g.x[i]-period), append(s.Y, fill, fill)
			}
			s.X, s.Y = append(s.X, g.x[i]), append(s.Y, g.y[i])
		}
		p.Series = append(p.Series, s)
	}
	p.Notes = shown(len(list), which)
	return p
}

// shown returns a note if there are more series than are drawn.
func shown(n int, which string) []string {
	if n <= shownSeries {
		return nil
	}
	return []string{fmt.Sprintf("the %d of %d %s", shownSeries, n, which)}
}

// period returns the time between samples, in seconds.
func (t *probeTable) period() float64 {
	least := int64(0)
	for i := 1; i < len(t.rows); i++ {
		if d := t.rows[i].Time - t.rows[i-1].Time; d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return units.Time(least).Seconds()
}

// thresholds draws the fullest queue and its threshold.
func (t *probeTable) thresholds() plot.Panel {
	queues := t.groups(seconds, func(s *sample) float64 { return float64(s.Bytes) })
	limits := t.groups(seconds, func(s *sample) float64 { return float64(s.Xoff) })
	p := plot.Panel{Title: "the fullest queue: " + queues[0].name, X: clock(t.end),
		Y: plot.Axis{Label: "bytes", Unit: plot.Bytes}}
	for _, g := range limits {
		if g.name == queues[0].name {
			p.Series = []plot.Series{
				{Name: "queue", X: queues[0].x, Y: queues[0].y, Style: plot.Style{Plain: true}},
				{Name: "threshold", X: g.x, Y: g.y, Style: plot.Style{Plain: true}},
			}
		}
	}
	return p
}

// spread draws the distribution of a value of events.
func (t *probeTable) spread(what string, unit plot.Unit, value func(*sample) float64) plot.Panel {
	p := plot.Panel{Kind: plot.CDF, X: plot.Axis{Label: what, Unit: unit}, Y: plot.Axis{Label: "events"}}
	byNode := make(map[string][]float64)
	var nodes []string
	for i := range t.rows {
		s := &t.rows[i]
		if byNode[s.Node] == nil {
			nodes = append(nodes, s.Node)
		}
		byNode[s.Node] = append(byNode[s.Node], value(s))
	}
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(len(byNode[b]), len(byNode[a])) })
	var all []float64
	for _, n := range nodes[:min(shownSeries, len(nodes))] {
		p.Series = append(p.Series, plot.Series{Name: n, X: byNode[n]})
		all = append(all, byNode[n]...)
	}
	p.X.Log = plot.Powers(all)
	p.Notes = shown(len(nodes), "nodes with the most events")
	return p
}

// binWidth returns a round number of picoseconds that divides a time into 50 to 125 bins.
func binWidth(span int64) int64 {
	for w := int64(1); ; w *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if w*m*125 >= span {
				return w * m
			}
		}
	}
}

// events draws the number of events over time.
func (t *probeTable) events(runEnd units.Time) plot.Panel {
	p := plot.Panel{X: clock(runEnd)}
	width := binWidth(int64(runEnd))
	bins := int64(runEnd) / width
	p.Y.Label = "events per " + units.Time(width).Human()
	counts := make(map[string][]float64)
	var names []string
	for i := range t.rows {
		s := &t.rows[i]
		name := s.Node
		switch {
		case t.columns["way"]:
			name = s.Event + " " + s.Way
		case t.columns["event"]:
			name = s.Event
		}
		if counts[name] == nil {
			counts[name] = make([]float64, bins+1)
			names = append(names, name)
		}
		counts[name][min(s.Time/width, bins)]++
	}
	total := func(name string) (sum float64) {
		for _, v := range counts[name] {
			sum += v
		}
		return sum
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(total(b), total(a)) })
	for _, n := range names[:min(shownSeries, len(names))] {
		s := plot.Series{Name: n, Style: plot.Style{Plain: true}}
		for i, v := range counts[n] {
			s.X, s.Y = append(s.X, units.Time(int64(i)*width).Seconds()), append(s.Y, v)
		}
		p.Series = append(p.Series, s)
	}
	p.Notes = shown(len(names), "series with the most events")
	return p
}
