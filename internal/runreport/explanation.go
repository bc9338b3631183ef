package runreport

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/internal/explain"
	"github.com/xoff-net/xoff/internal/report"
)

// explanation is the section about why the run went as it did, if that was recorded and is
// not too much to read.
func (r *Run) explanation() ([]report.Section, error) {
	if !explain.Recorded(r.Folder) {
		return nil, nil
	}
	sec := report.Section{Heading: "Explanation"}
	// 600,000 frames take 0.8 s.
	if rows, err := explain.Frames(r.Folder); err != nil {
		return nil, err
	} else if r.MaxRows > 0 && rows > 20*r.MaxRows {
		sec.Add(report.Paragraph(fmt.Sprintf("What was recorded, %d frames, takes long to read: `xoff explain` explains the run, and so does a report of `xoff report`.", rows)))
		return []report.Section{sec}, nil
	}
	run, err := explain.Load(r.Folder, r.Summary)
	if err != nil {
		return nil, err
	}
	e, err := run.Explain(explain.Options{At: -1})
	if err != nil {
		return nil, err
	}
	sec.Add(report.Paragraph(e.Headline + "."))
	for i, c := range e.Causes {
		if lines := c.Lines(i == 0); len(lines) > 0 {
			text := append([]string{c.What}, lines...)
			sec.Add(&report.Code{Text: strings.Join(text, "\n"), Caption: fmt.Sprintf("%d. %s at %s", i+1, c.Kind, c.Where), Folded: i > 0})
		} else if i > 0 {
			sec.Add(report.Paragraph(fmt.Sprintf("%d. %s at %s: %s.", i+1, c.Kind, c.Where, c.What)))
		}
	}
	for _, part := range e.Sections() {
		sec.Add(report.Paragraph(strings.ToUpper(part.Heading[:1])+part.Heading[1:]+":"), report.List(part.Lines))
	}
	sec.Add(report.Paragraph("`xoff explain` with `--flow`, `--port` or `--at` says more."))
	return []report.Section{sec}, nil
}
