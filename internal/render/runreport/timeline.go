package runreport

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/render/colours"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
)

// How many lanes of a kind a time line has.
const (
	maxHeld   = 12
	maxStorms = 4
	maxFaults = 6
	maxRates  = 4
)

// timeline is what happened when.
type timeline struct {
	end     units.Time
	panel   plot.Panel
	missing []string // what was not recorded, and what records it
}

// clock is the axis of time of a run.
func clock(end units.Time) plot.Axis {
	zero, last := 0.0, end.Seconds()
	return plot.Axis{Label: "time", Unit: plot.Seconds, Common: true, Min: &zero, Max: &last}
}

// add appends a lane of a kind.
func (t *timeline) add(kind, name string, spans []explain.Span) {
	if len(spans) == 0 {
		return
	}
	i := slices.IndexFunc(t.panel.Series, func(s plot.Series) bool { return s.Name == kind })
	if i < 0 {
		i = len(t.panel.Series)
		t.panel.Series = append(t.panel.Series, plot.Series{Name: kind})
	}
	s := &t.panel.Series[i]
	for _, x := range spans {
		s.X, s.Until = append(s.X, x.From.Seconds()), append(s.Until, min(x.To, t.end).Seconds())
		s.Y = append(s.Y, float64(len(t.panel.Categories)))
	}
	t.panel.Categories = append(t.panel.Categories, name)
}

// timeline is the section with the time line; nil when nothing is known but totals, and nothing
// happened.
func (r *Run) timeline(use *schemes) (*report.Section, error) {
	t := &timeline{end: r.Summary.End, panel: plot.Panel{Kind: plot.Spans, X: clock(r.Summary.End)}}
	for i := range use.Faults[:min(maxFaults, len(use.Faults))] {
		f := &use.Faults[i]
		var spans []explain.Span
		for _, s := range f.spans(t.end) {
			spans = append(spans, explain.Span{From: s.from, To: s.to})
		}
		t.add("fault", f.what(), spans)
	}
	if err := r.deadlockLanes(t); err != nil {
		return nil, err
	}
	if err := r.pauseLanes(t); err != nil {
		return nil, err
	}
	f := &plot.Figure{Colours: laneColour, Title: "What happened when", Wide: true}
	if len(t.panel.Categories) > 0 {
		f.Panels = append(f.Panels, t.panel)
	}
	for _, part := range []func(*timeline) (*plot.Panel, error){r.ratePanel, r.queuePanel} {
		p, err := part(t)
		if err != nil {
			return nil, err
		}
		if p != nil {
			f.Panels = append(f.Panels, *p)
		}
	}
	sec := &report.Section{Heading: "Time line"}
	if len(f.Panels) > 0 {
		sec.Add(&report.Figure{Name: "timeline", Plot: f})
	}
	if len(t.missing) > 0 && r.unread == 0 {
		sec.Add(report.Paragraph("Not recorded: " + strings.Join(t.missing, "; ") + ". `--explain` records all of it."))
	}
	if len(sec.Blocks) == 0 {
		return nil, nil
	}
	return sec, nil
}

// laneColour is that of a kind of lane, or of a scheme.
func laneColour(name string) (plot.Colour, bool) {
	if c := map[string]string{"fault": "purple", "deadlock": "blue", "storm": "vermillion", "held by pauses": "orange"}[name]; c != "" {
		return plot.ColourNamed(c)
	}
	return colours.Of(name)
}

// stuck is a row of deadlocks.parquet.
type stuck struct {
	Deadlock int64  `parquet:"deadlock"`
	Onset    int64  `parquet:"onset_ps"`
	End      *int64 `parquet:"end_ps,optional"`
}

// deadlockLanes is a lane of the times in which loops stood.
func (r *Run) deadlockLanes(t *timeline) error {
	d := &r.Summary.Deadlock
	if d.Found == 0 {
		return nil
	}
	var spans []explain.Span
	if r.why != nil {
		for _, x := range r.why.Deadlocks {
			to := t.end
			if x.End != nil {
				to = *x.End
			}
			spans = append(spans, explain.Span{From: x.Onset, To: to})
		}
	} else {
		list, err := rows[stuck](r.Folder, "deadlocks.parquet")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, x := range list {
			to := t.end
			if x.End != nil {
				to = units.Time(*x.End)
			}
			spans = append(spans, explain.Span{From: units.Time(x.Onset), To: to})
		}
		if err != nil && d.Onset != nil {
			to := t.end
			if d.Standing == 0 {
				to = min(t.end, *d.Onset+1)
				t.missing = append(t.missing, "when deadlocks ended (`output: {deadlocks: true}`)")
			}
			spans = append(spans, explain.Span{From: *d.Onset, To: to})
		}
	}
	t.add("deadlock", "deadlock", explain.Union(spans))
	return nil
}

// pauseRow is a row of pause_tree.parquet.
type pauseRow struct {
	Root  int64  `parquet:"root"`
	Sent  int64  `parquet:"sent_ps"`
	End   *int64 `parquet:"end_ps,optional"`
	Node  string `parquet:"node"`
	Port  int64  `parquet:"port"`
	Depth int64  `parquet:"depth"`
}

// pauseLanes are storms and the ports that were held longest.
func (r *Run) pauseLanes(t *timeline) error {
	if r.recorded != nil {
		for i, l := range r.recorded.Storms(r.why) {
			if i < maxStorms {
				t.add("storm", "from "+l.Name, l.Spans)
			}
		}
		t.held(r.recorded.Held(maxHeld + 1))
		return nil
	}
	if r.Summary.Pauses.Pauses == 0 {
		return nil
	}
	list, err := rows[pauseRow](r.Folder, "pause_tree.parquet")
	if errors.Is(err, fs.ErrNotExist) {
		t.missing = append(t.missing, "when ports were held, and by which storm (`output: {pause_tree: true}`)")
		return nil
	}
	if err != nil {
		return err
	}
	if r.MaxRows > 0 && int64(len(list)) > 20*r.MaxRows {
		return nil
	}
	r.treeLanes(t, list)
	return nil
}

// treeLanes does so from the trees of pauses.
func (r *Run) treeLanes(t *timeline, list []pauseRow) {
	held := make(map[string][]explain.Span)
	trees := make(map[int64]*explain.Span)
	deep := make(map[int64]bool)
	storms := make(map[string][]explain.Span)
	ended := func(p *pauseRow) units.Time {
		if p.End != nil {
			return min(units.Time(*p.End), t.end)
		}
		return t.end
	}
	for i := range list {
		p := &list[i]
		s := explain.Span{From: units.Time(p.Sent), To: ended(p)}
		name := r.names[portKey{p.Node, p.Port}]
		held[name.back] = append(held[name.back], s)
		if trees[p.Root] == nil {
			trees[p.Root] = &explain.Span{From: s.From, To: s.To}
		}
		trees[p.Root].To = max(trees[p.Root].To, s.To)
		deep[p.Root] = deep[p.Root] || p.Depth > 1
	}
	for i := range list {
		if root := list[i].Root; root == int64(i) && deep[root] {
			name := r.names[portKey{list[i].Node, list[i].Port}].name
			storms[name] = append(storms[name], *trees[root])
		}
	}
	for i, l := range lanes(storms) {
		if i < maxStorms {
			t.add("storm", "from "+l.Name, l.Spans)
		}
	}
	t.held(lanes(held))
}

// lanes orders what was found by how long it lasted.
func lanes(found map[string][]explain.Span) []explain.Lane {
	var list []explain.Lane
	for name, spans := range found {
		list = append(list, explain.Lane{Name: name, Spans: explain.Union(spans)})
	}
	slices.SortFunc(list, func(a, b explain.Lane) int {
		return cmp.Or(cmp.Compare(b.Lasted(), a.Lasted()), strings.Compare(a.Name, b.Name))
	})
	return list
}

func (t *timeline) held(list []explain.Lane) {
	for i, l := range list {
		if i < maxHeld {
			t.add("held by pauses", l.Name, l.Spans)
		}
	}
	if len(list) > maxHeld {
		t.panel.Notes = append(t.panel.Notes, fmt.Sprintf("the %d ports that were held longest", maxHeld))
	}
}

// ratePanel is what ports sent: the one where it began, and those that were held longest; or
// what a probe saw.
func (r *Run) ratePanel(t *timeline) (*plot.Panel, error) {
	p := &plot.Panel{Title: "Throughput of ports", X: clock(t.end), Y: plot.Axis{Label: "rate", Unit: plot.BitRate}}
	if r.recorded == nil {
		probe, err := r.probeWith("bps")
		if err != nil {
			return nil, err
		}
		if probe == nil {
			t.missing = append(t.missing, "throughput of ports (the probe `rates`)")
			return nil, nil
		}
		drawn := probe.lines("rate", plot.BitRate, highest, func(s *sample) float64 { return float64(s.Rate) })
		p.Series, p.Notes = drawn.Series, drawn.Notes
		return p, nil
	}
	var names []string
	if len(r.why.Causes) > 0 {
		names = append(names, r.why.Causes[0].Where)
	}
	for _, l := range r.recorded.Held(maxRates) {
		names = append(names, l.Name)
	}
	width := units.Time(binWidth(int64(t.end) / 2)) // 100 to 250 of them: there is more to see closer
	for _, name := range names {
		known := slices.ContainsFunc(p.Series, func(s plot.Series) bool { return s.Name == name })
		bins := r.recorded.Rate(name, width)
		if bins == nil || known || len(p.Series) == maxRates {
			continue
		}
		s := plot.Series{Name: name, Y: bins, Style: plot.Style{Plain: true}}
		for i := range bins {
			s.X = append(s.X, min(units.Time(i)*width+width/2, t.end).Seconds())
		}
		p.Series = append(p.Series, s)
	}
	if len(p.Series) == 0 {
		return nil, nil
	}
	p.Notes = []string{"in bins of " + width.Human()}
	return p, nil
}

// queuePanel is the queue that paused most, against its threshold.
func (r *Run) queuePanel(t *timeline) (*plot.Panel, error) {
	p := &plot.Panel{X: clock(t.end), Y: plot.Axis{Label: "bytes", Unit: plot.Bytes}}
	if r.recorded == nil {
		probe, err := r.probeWith("xoff_bytes")
		if err != nil {
			return nil, err
		}
		if probe == nil {
			t.missing = append(t.missing, "queues against their thresholds (the probe `thresholds`)")
			return nil, nil
		}
		drawn := probe.thresholds()
		p.Title, p.Series = drawn.Title, drawn.Series
		return p, nil
	}
	for _, c := range r.why.Causes {
		o := r.recorded.Occupancy(c)
		if o == nil {
			continue
		}
		p.Title = "Ingress queue " + o.Queue + ", and its threshold whenever it paused"
		p.Notes = []string{"the queue with its headroom"}
		queue := plot.Series{Name: "queue", Style: plot.Style{Plain: true, Dash: plot.Solid}}
		for _, l := range o.Held {
			queue.X, queue.Y = append(queue.X, l.At.Seconds()), append(queue.Y, float64(l.Bytes))
		}
		if n := len(o.Held); n > 0 {
			queue.X, queue.Y = append(queue.X, t.end.Seconds()), append(queue.Y, float64(o.Held[n-1].Bytes))
		}
		limit := plot.Series{Name: "threshold", Style: plot.Style{Plain: true, Dash: plot.Dashed}}
		for _, l := range o.Thresholds {
			limit.X, limit.Y = append(limit.X, l.At.Seconds()), append(limit.Y, float64(l.Bytes))
		}
		p.Series = []plot.Series{queue, limit}
		return p, nil
	}
	return nil, nil
}

// probeWith returns the first probe with rows that has a column; nil: there is none, or it has
// too many.
func (r *Run) probeWith(column string) (*table, error) {
	files, err := r.probes()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		t, err := r.readProbe(file)
		if err != nil {
			return nil, err
		}
		if t.columns[column] && len(t.rows) > 0 {
			return t, nil
		}
	}
	return nil, nil
}
