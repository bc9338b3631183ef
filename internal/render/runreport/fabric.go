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

// How many rows of a table and bars of a figure are shown.
const (
	topRows = 10
	topBars = 12
)

// top returns the items with the largest values, zero excluded, the first ones of
// equals first, and how many there are in all.
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

// fabric is what happened in switches: pauses, drops, buffers.
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

// deadlock names the loop that closed first; nil when none did.
func (r *Run) deadlock() *report.Section {
	d := &r.Summary.Deadlock
	if d.Found == 0 {
		return nil
	}
	state := "It stands at the end of the run."
	if d.Standing == 0 {
		state = "None stands at the end of the run."
	}
	sec := &report.Section{Heading: "Deadlock"}
	sec.Add(report.Paragraph(fmt.Sprintf("Egress queues of switches that wait for each other: %d found, the first closed at %s; %d queues were stuck in the largest one, and %d hosts could not send. %s",
		d.Found, d.Onset.Human(), d.Queues, d.Hosts, state)))
	t := &report.Table{Caption: "The first loop: each queue waits for the next one, the last for the first", Columns: report.Heads("queue")}
	for _, q := range d.Loop {
		t.Row(q)
	}
	sec.Add(t)
	return sec
}

// trees shows who paused whom in the trees that held most ports.
func (r *Run) trees(sec *report.Section) {
	p := r.Summary.PauseTrees
	if p == nil || p.Trees == 0 {
		return
	}
	t := &report.Table{Caption: fmt.Sprintf("Trees of pauses that held most ports (%d of %d)", len(p.Largest), p.Trees),
		Columns: report.Heads("started by", "at|", "lasted|", "pauses|", "ports held|", "of hosts|", "depth|")}
	for _, x := range p.Largest {
		t.Row(x.Root, x.Start.Human(), x.Duration.Human(), units.Thousands(uint64(x.Pauses)), fmt.Sprint(x.Ports),
			fmt.Sprint(x.Hosts), fmt.Sprint(x.Depth))
	}
	sec.Add(t, &report.Code{Text: strings.Join(p.Drawn, "\n"), Caption: "the largest: who paused whom"})
}

// pauses names the ports that paused others, and those that stood still.
func (r *Run) pauses(ports []port) report.Section {
	sec := report.Section{Heading: "Pauses"}
	p := &r.Summary.Pauses
	if p.Pauses == 0 {
		sec.Add(report.Paragraph("No class was paused."))
		return sec
	}
	sec.Add(report.Paragraph(fmt.Sprintf("%s pauses, %s withdrawn by a RESUME, %s frames that only renewed pauses. Egress queues stood still for %s in total.",
		units.Thousands(p.Pauses), units.Thousands(p.Resumes), units.Thousands(p.Refreshes), p.Blocked.Human())))
	senders, count := top(ports, topRows, func(p *port) int64 { return p.Pauses })
	t := &report.Table{Caption: fmt.Sprintf("Ports that sent most pauses (%d of %d)", len(senders), count),
		Columns: report.Heads("port", "class|", "pauses sent|", "headroom peak|")}
	for _, p := range senders {
		peak := "-"
		if p.PeakHeadrom > 0 {
			peak = units.Bytes(p.PeakHeadrom).Human()
		}
		t.Row(p.name(), fmt.Sprint(p.Class), units.Thousands(uint64(p.Pauses)), peak)
	}
	sec.Add(t)
	held, count := top(ports, topRows, func(p *port) int64 { return p.Blocked })
	t = &report.Table{Caption: fmt.Sprintf("Ports that stood still longest (%d of %d)", len(held), count),
		Columns: report.Heads("port", "class|", "could not send for|", "of the run|")}
	for _, p := range held {
		share := "-"
		if r.Summary.End > 0 {
			share = fmt.Sprintf("%.1f %%", float64(p.Blocked)/float64(r.Summary.End)*100)
		}
		t.Row(p.name(), fmt.Sprint(p.Class), units.Time(p.Blocked).Human(), share)
	}
	sec.Add(t, &report.Figure{Name: "pauses", Plot: pauseFigure(senders, held)})
	if p.MaxDepth > 1 {
		depths := &report.Table{Caption: "Pauses by depth: a pause of depth 2 happens because of one of depth 1, and so on",
			Columns: report.Heads("depth|", "pauses|")}
		for i, n := range p.Depths {
			depths.Row(fmt.Sprint(i+1), units.Thousands(n))
		}
		sec.Add(depths)
	}
	r.trees(&sec)
	return sec
}

func pauseFigure(senders, held []port) *plot.Figure {
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
	add("Time without permission to send", plot.Axis{Label: "time", Unit: plot.Seconds}, held,
		func(p *port) float64 { return units.Time(p.Blocked).Seconds() })
	return f
}

// dropped is nil when nothing was lost.
func dropped(ports []port) *report.Section {
	worst, count := top(ports, topRows, (*port).drops)
	if count == 0 {
		return nil
	}
	t := &report.Table{
		Caption: fmt.Sprintf("Ports by which most lost frames came in (%d of %d)", len(worst), count),
		Columns: report.Heads("port", "class|", "lossless|", "lossy|", "link|", "no route|", "deadlock handler|"),
	}
	expelled := slices.ContainsFunc(worst, func(p port) bool { return p.Expelled > 0 })
	if expelled {
		t.Columns = append(t.Columns, report.Heads("taken back|")...)
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

// buffers shows how full switches were.
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
		sec.Add(report.Paragraph("No frame had to wait in a switch."))
		return sec
	}
	t := &report.Table{
		Caption: fmt.Sprintf("Fullest switches (%d of %d): most bytes stored at a time", len(fullest), len(list)),
		Columns: report.Heads("switch", "buffer|", "peak|", "of the buffer|", "private|", "shared|", "headroom|", "headroom set aside|"),
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
		Plot: &plot.Figure{Colours: colours.Of, Title: "Most bytes stored at a time", Panels: []plot.Panel{p}}})
	return sec
}
