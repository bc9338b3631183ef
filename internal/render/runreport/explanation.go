package runreport

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/render/report"
)

// explain explains the run, if it was recorded for that and the recording is not too large:
// 600,000 frames take 0.8 s.
func (r *Run) explain() error {
	if !explain.Recorded(r.Folder) {
		return nil
	}
	rows, err := explain.Frames(r.Folder)
	if err != nil {
		return err
	}
	if r.MaxRows > 0 && rows > 20*r.MaxRows {
		r.unread = rows
		return nil
	}
	if r.recorded, err = explain.Load(r.Folder, r.Summary, nil); err != nil {
		return err
	}
	r.why, err = r.recorded.Explain(explain.Options{At: -1})
	return err
}

// answer returns the first sections: what happened, where and when.
func (r *Run) answer(use *schemes) ([]report.Section, error) {
	if err := r.explain(); err != nil {
		return nil, err
	}
	ports, err := rows[port](r.Folder, "ports.parquet")
	if err != nil {
		return nil, err
	}
	pools, err := rows[pool](r.Folder, "pools.parquet")
	if err != nil {
		return nil, err
	}
	list := directions(ports)
	r.names = namesOf(list)
	sec := report.Section{Heading: "What happened"}
	switch {
	case r.why != nil:
		sec.Add(report.Lead(r.why.Headline + "."))
	case r.unread > 0:
		sec.Add(report.Lead(r.lead(list)+"."), report.Paragraph(fmt.Sprintf(
			"The recording of %s frames takes long to analyse: run `xoff explain`, or `xoff report` for a report with the explanation.", units.Thousands(uint64(r.unread)))))
	default:
		sec.Add(report.Lead(r.lead(list) + "."))
		if s := r.Summary; s.Pauses.Pauses+s.Drops.Lossless+s.Drops.Overflow > 0 {
			sec.Add(report.Paragraph("Run the scenario with `--explain` to see why."))
		}
	}
	sec.Add(Drawing(r.network(list, pools, use, r.why)))
	for _, f := range use.Faults {
		sec.Add(report.Paragraph("Fault: " + f.text(r.Summary.End) + "."))
	}
	links := report.Section{Heading: "Links", Blocks: []report.Block{linkTable(list)}}
	when, err := r.timeline(use)
	if err != nil || when == nil {
		return []report.Section{sec, links}, err
	}
	return []report.Section{sec, *when, links}, nil
}

// namesOf returns the names of ports and of their peers.
func namesOf(list []direction) map[portKey]portName {
	names := make(map[portKey]portName)
	for i := range list {
		n := portName{name: list[i].name}
		if b := list[i].back; b >= 0 {
			n.peer = list[b].name
		}
		names[portKey{list[i].node, list[i].port}] = n
	}
	return names
}

// details returns the section with the whole explanation.
func (r *Run) details() ([]report.Section, error) {
	e := r.why
	if e == nil {
		return nil, nil
	}
	sec := report.Section{Heading: "Explanation"}
	for i, c := range e.Causes {
		if lines := c.Lines(i == 0); len(lines) > 0 {
			text := append([]string{c.What}, lines...)
			sec.Add(&report.Code{Text: strings.Join(text, "\n"), Caption: fmt.Sprintf("%d. %s at %s", i+1, c.Kind, c.Where), Folded: i > 0})
		} else {
			sec.Add(report.Paragraph(fmt.Sprintf("%d. %s at %s: %s.", i+1, c.Kind, c.Where, c.What)))
		}
	}
	for _, part := range e.Sections() {
		sec.Add(report.Paragraph(strings.ToUpper(part.Heading[:1])+part.Heading[1:]+":"), report.List(part.Lines))
	}
	sec.Add(report.Paragraph("For details, run `xoff explain` with `--flow`, `--port` or `--at`."))
	return []report.Section{sec}, nil
}
