package runreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
)

// Numbers of rows in a table and bars in a figure.
const (
	topRows = 10
	topBars = 12
)

// top returns the n items with the largest positive values, in stable order, and the number
// of items with positive values.
func top[T any](list []T, n int, value func(*T) int64) ([]T, int) {
	var found []T
	for i := range list {
		if value(&list[i]) > 0 {
			found = append(found, list[i])
		}
	}
	slices.SortStableFunc(found, func(a, b T) int { return cmp.Compare(value(&b), value(&a)) })
	return found[:min(n, len(found))], len(found)
}

// fabric returns the sections about deadlocks, drops, throughput, pauses and buffers.
func (r *Run) fabric() ([]report.Section, error) {
	ports, err := rows[port](r.Folder, "ports.parquet")
	if err != nil {
		return nil, err
	}
	pools, err := rows[pool](r.Folder, "pools.parquet")
	if err != nil {
		return nil, err
	}
	var list []report.Section
	if s := r.deadlock(); s != nil {
		list = append(list, *s)
	}
	if s := dropped(ports); s != nil {
		list = append(list, *s)
	}
	return append(list, r.throughput(ports), r.pauses(ports), buffers(pools)), nil
}

// deadlock returns the section about deadlocks with the first loop, or nil.
func (r *Run) deadlock() *report.Section {
	d := &r.Summary.Deadlock
	if d.Found == 0 {
		return nil
	}
	state := "A deadlock remains at the end of the run."
	if d.Standing == 0 {
		state = "No deadlock remains at the end of the run."
	}
	sec := &report.Section{Heading: "Deadlock"}
	sec.Add(report.Paragraph(fmt.Sprintf("Deadlocks found: %d. The first began at %s. The largest had %d stuck egress queues, and %d hosts could not send. %s",
		d.Found, d.Onset.Human(), d.Queues, d.Hosts, state)))
	t := &report.Table{Caption: "The first loop: each queue waits for the next, and the last for the first", Columns: report.Heads("queue")}
	for _, q := range d.Loop {
		t.Row(q)
	}
	sec.Add(t)
	return sec
}

// trees adds the largest pause trees to a section.
func (r *Run) trees(sec *report.Section) {
	p := r.Summary.PauseTrees
	if p == nil || p.Trees == 0 {
		return
	}
	t := &report.Table{Caption: fmt.Sprintf("Largest pause trees (%d of %d)", len(p.Largest), p.Trees),
		Columns: report.Heads("root", "start|", "duration|", "pauses|", "paused ports|", "of hosts|", "depth|")}
	for _, x := range p.Largest {
		t.Row(x.Root, x.Start.Human(), x.Duration.Human(), units.Thousands(uint64(x.Pauses)), fmt.Sprint(x.Ports),
			fmt.Sprint(x.Hosts), fmt.Sprint(x.Depth))
	}
	sec.Add(t, &report.Code{Text: strings.Join(p.Drawn, "\n"), Caption: "the largest pause tree"})
}

// pauses returns the section about ports that paused others and ports that were paused.
func (r *Run) pauses(ports []port) report.Section {
	sec := report.Section{Heading: "Pauses"}
	p := &r.Summary.Pauses
	if p.Pauses == 0 {
		sec.Add(report.Paragraph("No class was paused."))
		return sec
	}
	sec.Add(report.Paragraph(fmt.Sprintf("%s pauses, %s ended by a RESUME, %s frames that only refreshed pauses. Paused time of all egress queues: %s.",
		units.Thousands(p.Pauses), units.Thousands(p.Resumes), units.Thousands(p.Refreshes), p.Blocked.Human())))
	senders, count := top(ports, topRows, func(p *port) int64 { return p.Pauses })
	t := &report.Table{Caption: fmt.Sprintf("Ports that sent the most pauses (%d of %d)", len(senders), count),
		Columns: report.Heads("port", "class|", "pauses sent|", "headroom peak|")}
	for _, p := range senders {
		peak := "-"
		if p.PeakHeadroom > 0 {
			peak = units.Bytes(p.PeakHeadroom).Human()
		}
		t.Row(p.name(), fmt.Sprint(p.Class), units.Thousands(uint64(p.Pauses)), peak)
	}
	sec.Add(t)
	paused, count := top(ports, topRows, func(p *port) int64 { return p.Blocked })
	t = &report.Table{Caption: fmt.Sprintf("Ports with the longest paused time (%d of %d)", len(paused), count),
		Columns: report.Heads("port", "class|", "paused time|", "of the run|")}
	for _, p := range paused {
		share := "-"
		if r.Summary.End > 0 {
			share = fmt.Sprintf("%.1f %%", float64(p.Blocked)/float64(r.Summary.End)*100)
		}
		t.Row(p.name(), fmt.Sprint(p.Class), units.Time(p.Blocked).Human(), share)
	}
	sec.Add(t, &report.Figure{Name: "pauses", Plot: pauseFigure(senders, paused)})
	if p.MaxDepth > 1 {
		depths := &report.Table{Caption: "Pauses by depth: a pause of depth 1 causes a pause of depth 2, and so on",
			Columns: report.Heads("depth|", "pauses|")}
		for i, n := range p.Depths {
			depths.Row(fmt.Sprint(i+1), units.Thousands(n))
		}
		sec.Add(depths)
	}
	r.trees(&sec)
	return sec
}

func pauseFigure(senders, paused []port) *plot.Figure {
	f := &plot.Figure{Colours: colours.Of, Columns: 2}
	add := func(title string, axis plot.Axis, list []port, value func(*port) float64) {
		p := plot.Panel{Title: title, Kind: plot.Bars, Y: axis}
		s := plot.Series{}
		for i := range list[:min(topBars, len(list))] {
			p.Categories = append(p.Categories, list[i].name())
			s.Y = append(s.Y, value(&list[i]))
		}
		p.Series = []plot.Series{s}
		f.Panels = append(f.Panels, p)
	}
	add("Pauses sent", plot.Axis{Label: "pauses"}, senders, func(p *port) float64 { return float64(p.Pauses) })
	add("Paused time", plot.Axis{Label: "time", Unit: plot.Seconds}, paused,
		func(p *port) float64 { return units.Time(p.Blocked).Seconds() })
	return f
}

// dropped returns the section about drops, or nil.
func dropped(ports []port) *report.Section {
	worst, count := top(ports, topRows, (*port).drops)
	if count == 0 {
		return nil
	}
	t := &report.Table{
		Caption: fmt.Sprintf("Ingress ports with the most drops (%d of %d)", len(worst), count),
		Columns: report.Heads("port", "class|", "lossless|", "lossy|", "link|", "no route|", "deadlock handler|"),
	}
	expelled := slices.ContainsFunc(worst, func(p port) bool { return p.Expelled > 0 })
	if expelled {
		t.Columns = append(t.Columns, report.Heads("expelled|")...)
	}
	for _, p := range worst {
		row := []report.Cell{{Text: p.name()}, {Text: fmt.Sprint(p.Class)}}
		reasons := []int64{p.Lossless, p.Overflow, p.Link, p.NoRoute, p.Handler}
		if expelled {
			reasons = append(reasons, p.Expelled)
		}
		for _, n := range reasons {
			c := report.Cell{Text: units.Thousands(uint64(n))}
			if n > 0 {
				c.Mark = report.Bad
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return &report.Section{Heading: "Drops", Blocks: []report.Block{t}}
}

// buffers returns the section about the occupancy of switches.
func buffers(pools []pool) report.Section {
	sec := report.Section{Heading: "Buffers"}
	type sw struct {
		name  string
		pools map[string]pool
	}
	var list []sw
	at := make(map[string]int)
	for _, p := range pools {
		i, ok := at[p.Node]
		if !ok {
			i = len(list)
			at[p.Node] = i
			list = append(list, sw{p.Node, make(map[string]pool)})
		}
		list[i].pools[p.Pool] = p
	}
	fullest, _ := top(list, topRows, func(s *sw) int64 { return s.pools["all"].Peak })
	if len(fullest) == 0 {
		sec.Add(report.Paragraph("No frame was queued in a switch."))
		return sec
	}
	t := &report.Table{
		Caption: fmt.Sprintf("Fullest switches (%d of %d): peak occupancy", len(fullest), len(list)),
		Columns: report.Heads("switch", "buffer|", "peak|", "of the buffer|", "private|", "shared|", "headroom|", "reserved headroom|"),
	}
	p := plot.Panel{Kind: plot.Bars, Y: plot.Axis{Label: "peak", Unit: plot.Bytes}}
	names := []string{"all", "shared", "headroom"}
	p.Series = []plot.Series{{Name: "whole buffer"}, {Name: "shared"}, {Name: "headroom"}}
	size := func(b int64) string { return units.Bytes(b).Human() }
	for i, s := range fullest {
		all := s.pools["all"]
		t.Row(s.name, size(all.Size), size(all.Peak), fmt.Sprintf("%.1f %%", float64(all.Peak)/float64(max(all.Size, 1))*100),
			size(s.pools["private"].Peak), size(s.pools["shared"].Peak), size(s.pools["headroom"].Peak), size(s.pools["headroom"].Size))
		if i < topBars {
			p.Categories = append(p.Categories, s.name)
			for k, name := range names {
				p.Series[k].Y = append(p.Series[k].Y, float64(s.pools[name].Peak))
			}
		}
	}
	sec.Add(t, &report.Figure{Name: "buffers",
		Plot: &plot.Figure{Colours: colours.Of, Title: "Peak occupancy", Panels: []plot.Panel{p}}})
	return sec
}
