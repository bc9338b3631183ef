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

// Largest numbers of lanes in the timeline, and of series in the throughput panel.
const (
	maxPaused = 12
	maxStorms = 4
	maxFaults = 6
	maxRates  = 4
)

// timeline shows when faults, deadlocks and pauses happened.
type timeline struct {
	end     units.Time
	panel   plot.Panel
	missing []string // data that was not recorded, and how to record it
}

// clock returns the time axis of a run.
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

// timeline returns the section with the timeline, or nil if there is nothing to show.
func (r *Run) timeline(use *schemes) (*report.Section, error) {
	t := &timeline{end: r.Summary.End, panel: plot.Panel{Kind: plot.Spans, X: clock(r.Summary.End)}}
	for i := range use.Faults[:min(maxFaults, len(use.Faults))] {
		f := &use.Faults[i]
		var spans []explain.Span
		for _, s := range f.spans(t.end) {
			spans = append(spans, explain.Span{From: s.from, To: s.to})
		}
		t.add("fault", f.label(), spans)
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
	sec := &report.Section{Heading: "Timeline"}
	if len(f.Panels) > 0 {
		sec.Add(&report.Figure{Name: "timeline", Plot: f})
	}
	if len(t.missing) > 0 && r.unread == 0 {
		sec.Add(report.Paragraph("Not recorded: " + strings.Join(t.missing, "; ") + ". `--explain` records all of this."))
	}
	if len(sec.Blocks) == 0 {
		return nil, nil
	}
	return sec, nil
}

// laneColour returns the colour of a kind of lane, or of a scheme.
func laneColour(name string) (plot.Colour, bool) {
	if c := map[string]string{"fault": "purple", "deadlock": "blue", "storm": "vermillion", "paused": "orange"}[name]; c != "" {
		return plot.ColourNamed(c)
	}
	return colours.Of(name)
}

// stuck is a row of deadlocks.parquet.
type stuck struct {
	Deadlock int64  `column:"deadlock"`
	Onset    int64  `column:"onset_ps"`
	End      *int64 `column:"end_ps"`
}

// deadlockLanes adds the lane with the times of deadlocks.
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
	Root  int64  `column:"root"`
	Sent  int64  `column:"sent_ps"`
	End   *int64 `column:"end_ps"`
	Node  string `column:"node"`
	Port  int64  `column:"port"`
	Depth int64  `column:"depth"`
}

// pauseLanes adds the lanes of storms and of the longest paused ports.
func (r *Run) pauseLanes(t *timeline) error {
	if r.recorded != nil {
		for i, l := range r.recorded.Storms(r.why) {
			if i < maxStorms {
				t.add("storm", "from "+l.Name, l.Spans)
			}
		}
		t.paused(r.recorded.Blocked(maxPaused + 1))
		return nil
	}
	if r.Summary.Pauses.Pauses == 0 {
		return nil
	}
	list, err := rows[pauseRow](r.Folder, "pause_tree.parquet")
	if errors.Is(err, fs.ErrNotExist) {
		t.missing = append(t.missing, "when ports were paused, and by which storm (`output: {pause_tree: true}`)")
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

// treeLanes adds the lanes of storms and paused ports from the table of pause trees.
func (r *Run) treeLanes(t *timeline, list []pauseRow) {
	paused := make(map[string][]explain.Span)
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
		paused[name.peer] = append(paused[name.peer], s)
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
	t.paused(lanes(paused))
}

// lanes returns lanes in order of their total duration, the longest first.
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

// paused adds the lanes of the longest paused ports.
func (t *timeline) paused(list []explain.Lane) {
	for i, l := range list {
		if i < maxPaused {
			t.add("paused", l.Name, l.Spans)
		}
	}
	if len(list) > maxPaused {
		t.panel.Notes = append(t.panel.Notes, fmt.Sprintf("the %d longest paused ports", maxPaused))
	}
}

// ratePanel returns the throughput of the port of the main cause and of the longest paused
// ports. Without a recording, it returns the data of a probe, or nil.
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
	for _, l := range r.recorded.Blocked(maxRates) {
		names = append(names, l.Name)
	}
	width := units.Time(binWidth(int64(t.end) / 2)) // 100 to 250 bins, for zooming in
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

// queuePanel returns the queue that paused most and its threshold. Without a recording, it
// returns the data of a probe, or nil.
func (r *Run) queuePanel(t *timeline) (*plot.Panel, error) {
	p := &plot.Panel{X: clock(t.end), Y: plot.Axis{Label: "bytes", Unit: plot.Bytes}}
	if r.recorded == nil {
		probe, err := r.probeWith("xoff_bytes")
		if err != nil {
			return nil, err
		}
		if probe == nil {
			t.missing = append(t.missing, "queues and their thresholds (the probe `thresholds`)")
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
		p.Title = "Ingress queue " + o.Queue + " and its threshold at every pause"
		p.Notes = []string{"the queue counts cells and includes its headroom; the threshold includes the private segment"}
		queue := plot.Series{Name: "queue", Style: plot.Style{Plain: true, Dash: plot.Solid}}
		for _, l := range o.Levels {
			queue.X, queue.Y = append(queue.X, l.At.Seconds()), append(queue.Y, float64(l.Bytes))
		}
		if n := len(o.Levels); n > 0 {
			queue.X, queue.Y = append(queue.X, t.end.Seconds()), append(queue.Y, float64(o.Levels[n-1].Bytes))
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

// probeWith returns the first probe that has a column and rows, but not too many rows, or
// nil.
func (r *Run) probeWith(column string) (*probeTable, error) {
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
