package runreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
)

// direction is one direction of a link: what a port sends, over all classes.
type direction struct {
	node, peer  string
	port        int64
	name        string // as in `xoff explain`
	blocked     units.Time
	utilisation float64
	drops       int64 // sent frames that the peer dropped
	marks       int64
	back        int // index of the opposite direction; -1: none
}

func (w *direction) text() string {
	return fmt.Sprintf("paused for %s; utilisation %s; %s dropped; %s marked", w.blocked.Human(), percent(w.utilisation),
		units.Thousands(uint64(w.drops)), units.Thousands(uint64(w.marks)))
}

// directions merges the classes of ports and finds the opposite directions. Of several cables
// between two nodes, the first port of one node belongs to the first port of the other, and
// so on.
func directions(ports []port) []direction {
	type key struct {
		node string
		port int64
	}
	type pair struct{ from, to string }
	at := make(map[key]int)
	between := make(map[pair][]int)
	var list []direction
	lost := make(map[int]int64)
	for i := range ports {
		p := &ports[i]
		if p.Peer == "" {
			continue
		}
		k, known := at[key{p.Node, p.Port}]
		if !known {
			k = len(list)
			at[key{p.Node, p.Port}] = k
			between[pair{p.Node, p.Peer}] = append(between[pair{p.Node, p.Peer}], k)
			list = append(list, direction{node: p.Node, peer: p.Peer, port: p.Port, back: -1})
		}
		w := &list[k]
		w.blocked = max(w.blocked, units.Time(p.Blocked))
		w.utilisation += p.Utilisation
		w.marks += p.Marks
		lost[k] += p.drops()
	}
	for i := range list {
		w := &list[i]
		side := between[pair{w.node, w.peer}]
		w.name = w.node + ".to-" + w.peer
		if len(side) > 1 {
			w.name = fmt.Sprintf("%s.port%d", w.node, w.port)
		}
		if other := between[pair{w.peer, w.node}]; slices.Index(side, i) < len(other) {
			w.back = other[slices.Index(side, i)]
			w.drops = lost[w.back]
		}
	}
	return list
}

// Arrange sets the shape in which a topology is drawn. A torus has the given number of columns.
func Arrange(n *plot.Network, topology string, columns int) {
	switch {
	case topology == "ring" || topology == "full-mesh" || topology == "custom" && circular(n):
		n.Shape = plot.Circle
	case topology == "torus":
		n.Shape, n.Columns = plot.Grid, columns
	}
}

// maxDrawn is the maximum number of links in a drawing. A drawing of that many has about 3 MB.
const maxDrawn = 10_000

// Drawing returns the figure of a fabric, or a sentence if it has too many links to draw.
func Drawing(n *plot.Network) report.Block {
	if len(n.Links) > maxDrawn {
		return report.Paragraph(fmt.Sprintf("The fabric is not drawn: it has %s links (expected at most %s).",
			units.Thousands(uint64(len(n.Links))), units.Thousands(maxDrawn)))
	}
	return &report.Figure{Name: "topology", Plot: n}
}

// network returns the drawing of the fabric.
func (r *Run) network(list []direction, pools []pool, use *schemes, e *explain.Explanation) *plot.Network {
	n := &plot.Network{Title: "Where traffic was paused"}
	paused := slices.ContainsFunc(list, func(w direction) bool { return w.blocked > 0 })
	n.Measures = []plot.Measure{
		{Name: "paused time", Title: n.Title, Unit: plot.Seconds},
		{Name: "utilisation", Title: "How busy links were", Unit: plot.Share, Max: 1},
		{Name: "dropped", Title: "Where frames were dropped", Unit: plot.Plain},
		{Name: "marked", Title: "Where frames were marked", Unit: plot.Plain},
	}
	if !paused {
		n.Title = "How busy links were"
	}
	switches := make(map[string]string)
	for _, p := range pools {
		if p.Pool == "all" {
			switches[p.Node] = fmt.Sprintf("peak %s of %s", units.Bytes(p.Peak).Human(), units.Bytes(p.Size).Human())
		}
	}
	at := make(map[string]int)
	node := func(name string) int {
		i, known := at[name]
		if !known {
			i = len(n.Nodes)
			at[name] = i
			text, sw := switches[name]
			n.Nodes = append(n.Nodes, plot.Node{Name: name, Host: !sw, Text: text})
		}
		return i
	}
	for i := range list {
		w := &list[i]
		a, b := node(w.node), node(w.peer)
		if w.back >= 0 && w.back < i {
			continue
		}
		l := plot.Link{A: a, B: b, AB: w.drawn()}
		if w.back >= 0 {
			l.BA = list[w.back].drawn()
		}
		if n.Nodes[b].Host && !n.Nodes[a].Host {
			l.A, l.B, l.AB, l.BA = l.B, l.A, l.BA, l.AB
		}
		n.Links = append(n.Links, l)
	}
	Arrange(n, use.Topology.Name, use.Topology.Columns)
	r.mark(n, list, use, e)
	if !paused { // show utilisation instead
		swap(n)
	}
	return n
}

// swap puts utilisation before paused time.
func swap(n *plot.Network) {
	n.Measures[0], n.Measures[1] = n.Measures[1], n.Measures[0]
	for i := range n.Links {
		for _, w := range []*plot.Direction{&n.Links[i].AB, &n.Links[i].BA} {
			if len(w.Values) > 1 {
				w.Values[0], w.Values[1] = w.Values[1], w.Values[0]
			}
		}
	}
}

func (w *direction) drawn() plot.Direction {
	return plot.Direction{Name: w.name, Text: w.text(), Values: []float64{w.blocked.Seconds(), w.utilisation, float64(w.drops), float64(w.marks)}}
}

// circular reports whether the switches form a ring: each has hosts and two neighbours.
func circular(n *plot.Network) bool {
	degree := make([]int, len(n.Nodes))
	hosts := make([]int, len(n.Nodes))
	for _, l := range n.Links {
		if n.Nodes[l.A].Host {
			hosts[l.B]++
			continue
		}
		degree[l.A]++
		degree[l.B]++
	}
	count := 0
	for i := range n.Nodes {
		if n.Nodes[i].Host {
			continue
		}
		if count++; degree[i] != 2 || hosts[i] == 0 {
			return false
		}
	}
	return count > 2
}

// mark highlights faults, the loop of a deadlock, and the main cause of an explanation.
func (r *Run) mark(n *plot.Network, list []direction, use *schemes, e *explain.Explanation) {
	loop := make(map[string]bool)
	for _, q := range r.Summary.Deadlock.Loop {
		var node string
		var at int64
		if before, after, ok := strings.Cut(q, " port "); ok {
			node = before
			_, _ = fmt.Sscan(after, &at)
		}
		for i := range list {
			if list[i].node == node && list[i].port == at {
				loop[list[i].name] = true
			}
		}
	}
	where := ""
	if e != nil && len(e.Causes) > 0 && len(loop) == 0 {
		where = e.Causes[0].Where
	}
	for i := range n.Links {
		l := &n.Links[i]
		for _, w := range []*plot.Direction{&l.AB, &l.BA} {
			w.Mark = w.Name != "" && w.Name == where
			w.Loop = loop[w.Name]
		}
	}
	for i := range n.Nodes {
		n.Nodes[i].Mark = n.Nodes[i].Name == where
	}
	for _, f := range use.Faults {
		text := f.text(r.Summary.End)
		for i := range n.Nodes {
			if f.Host == n.Nodes[i].Name {
				n.Nodes[i].Fault = joined(n.Nodes[i].Fault, text)
			}
		}
		link, _, _ := strings.Cut(f.Link, "#")
		for i := range n.Links {
			l := &n.Links[i]
			a, b := n.Nodes[l.A].Name, n.Nodes[l.B].Name
			if link != "" && (link == a+"-"+b || link == b+"-"+a) {
				l.Fault = joined(l.Fault, text)
			}
		}
	}
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// linkTable returns the numbers of the drawing as a table.
func linkTable(list []direction) *report.Table {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b direction) int {
		return cmp.Or(cmp.Compare(b.blocked, a.blocked), cmp.Compare(b.drops, a.drops), cmp.Compare(b.utilisation, a.utilisation))
	})
	shown := sorted[:min(topRows, len(sorted))]
	t := &report.Table{Caption: fmt.Sprintf("The drawing in numbers: ports with the longest paused time (%d of %d)", len(shown), len(list)),
		Columns: report.Heads("port", "paused time|", "utilisation|", "dropped|", "marked|")}
	for i := range shown {
		w := &shown[i]
		t.Row(w.name, w.blocked.Human(), percent(w.utilisation), units.Thousands(uint64(w.drops)), units.Thousands(uint64(w.marks)))
	}
	return t
}

// lead returns the main message about a run that was not recorded for an explanation.
func (r *Run) lead(list []direction) string {
	s := r.Summary
	paused, _ := top(list, 1, func(w *direction) int64 { return int64(w.blocked) })
	switch {
	case s.Deadlock.Found > 0:
		state := " until the end of the run"
		if s.Deadlock.Standing == 0 {
			state = "; it was resolved"
		}
		return fmt.Sprintf("deadlock: %d queues waited for each other from %s%s", len(s.Deadlock.Loop), s.Deadlock.Onset.Human(), state)
	case s.Drops.Lossless > 0:
		return fmt.Sprintf("%s frames of lossless classes were dropped", units.Thousands(s.Drops.Lossless))
	case s.Pauses.Pauses > 0 && len(paused) > 0:
		share := ""
		if s.End > 0 {
			share = fmt.Sprintf(", %s of the run", percent(float64(paused[0].blocked)/float64(s.End)))
		}
		return fmt.Sprintf("%s pauses; %s was paused longest: %s%s", units.Thousands(s.Pauses.Pauses), paused[0].name, paused[0].blocked.Human(), share)
	case s.Drops.Overflow > 0:
		return fmt.Sprintf("no pauses; %s frames of lossy classes were dropped", units.Thousands(s.Drops.Overflow))
	}
	return "no pauses and no drops"
}
