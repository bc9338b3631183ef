package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// PauseTrees describes how pauses spread. A tree is a first pause and all pauses that it
// caused.
type PauseTrees struct {
	Trees       int         `json:"trees"`           // pauses that no other pause caused
	MaxPorts    int         `json:"max_ports"`       // largest number of egress ports paused by one tree
	MaxHosts    int         `json:"max_hosts"`       // largest number of host ports among them
	MaxDepth    int         `json:"max_depth"`       // longest chain
	MaxDuration units.Time  `json:"max_duration_ps"` // longest duration of a tree
	Largest     []PauseTree `json:"largest"`         // trees with the most paused ports, the largest first
	Drawn       []string    `json:"drawn"`           // the largest tree, line by line: who paused whom
}

// PauseTree is one tree of pauses.
type PauseTree struct {
	Root     string     `json:"root"`        // queue where it started
	Start    units.Time `json:"start_ps"`    // when
	Duration units.Time `json:"duration_ps"` // until its last pause ended, or the run did
	Pauses   int        `json:"pauses"`      // number of pauses
	Ports    int        `json:"ports"`       // egress ports that it paused
	Hosts    int        `json:"hosts"`       // host ports among them
	Depth    int        `json:"depth"`       // longest chain
}

// tree is a PauseTree with the index of its first pause.
type tree struct {
	PauseTree
	root int
}

// maxTrees is the number of trees that a summary describes; maxLines is the length of the
// drawing of the largest one.
const (
	maxTrees = 5
	maxLines = 20
)

func (o *Outcome) pauseTrees() *PauseTrees {
	if !o.Trees {
		return nil
	}
	list := o.Counters.Pauses
	trees := make(map[int]*tree)
	paused := make(map[[3]int]bool) // root, node and port of an egress
	depths := make([]int, len(list))
	var all []*tree
	for i := range list {
		p := &list[i]
		t := trees[p.Root]
		if t == nil {
			t = &tree{PauseTree{Root: o.ingressName(p), Start: p.Sent}, i}
			trees[i], all = t, append(all, t)
		}
		depths[i] = 1
		if p.Parent >= 0 {
			depths[i] = depths[p.Parent] + 1
		}
		t.Pauses++
		t.Depth = max(t.Depth, depths[i])
		t.Duration = max(t.Duration, min(p.Ended, o.End)-t.Start)
		if at := [3]int{p.Root, p.Peer.Node, p.Peer.Port}; !paused[at] {
			paused[at] = true
			t.Ports++
			if p.Peer.Node < len(o.Hosts) {
				t.Hosts++
			}
		}
	}
	s := &PauseTrees{Trees: len(all), Largest: []PauseTree{}, Drawn: []string{}}
	for _, t := range all {
		s.MaxPorts, s.MaxHosts, s.MaxDepth = max(s.MaxPorts, t.Ports), max(s.MaxHosts, t.Hosts), max(s.MaxDepth, t.Depth)
		s.MaxDuration = max(s.MaxDuration, t.Duration)
	}
	slices.SortStableFunc(all, func(a, b *tree) int {
		return cmp.Or(cmp.Compare(b.Ports, a.Ports), cmp.Compare(b.Pauses, a.Pauses))
	})
	for _, t := range all[:min(maxTrees, len(all))] {
		s.Largest = append(s.Largest, t.PauseTree)
	}
	if len(all) > 0 {
		s.Drawn = o.drawTree(all[0].root, maxLines)
	}
	return s
}

// ingressName returns the name of the queue that sends a pause.
func (o *Outcome) ingressName(p *sim.Pause) string {
	return fmt.Sprintf("%s port %d class %d", o.Nodes[p.Node], p.Port, p.Class)
}

// drawTree draws a tree in at most `most` lines: who paused whom, from the root. Pauses of one
// queue with the same cause share a line.
func (o *Outcome) drawTree(from, most int) []string {
	list := o.Counters.Pauses
	type branch struct {
		first    int
		pauses   int
		children []*branch
	}
	at := make(map[int]*branch) // by pause
	var root *branch
	for i := from; i < len(list); i++ {
		p := &list[i]
		if p.Root != from {
			continue
		}
		if p.Parent < 0 {
			root = &branch{first: i, pauses: 1}
			at[i] = root
			continue
		}
		above := at[p.Parent]
		n := slices.IndexFunc(above.children, func(b *branch) bool {
			return list[b.first].End == p.End && list[b.first].Class == p.Class
		})
		if n < 0 {
			n = len(above.children)
			above.children = append(above.children, &branch{first: i})
		}
		above.children[n].pauses++
		at[i] = above.children[n]
	}
	var lines []string
	var draw func(b *branch, depth int)
	draw = func(b *branch, depth int) {
		indent := strings.Repeat("  ", depth)
		lines = append(lines, indent+o.pauseText(&list[b.first], o.Nodes[list[b.first].Peer.Node], b.pauses))
		// Hosts are leaves of the tree: the hosts that one switch paused share a line.
		var ends []*branch
		for _, c := range b.children {
			if list[c.first].Peer.Node < len(o.Hosts) {
				ends = append(ends, c)
			}
		}
		for _, c := range b.children {
			switch {
			case list[c.first].Peer.Node >= len(o.Hosts) || len(ends) == 1:
				draw(c, depth+1)
			case c == ends[0]:
				pauses := 0
				for _, e := range ends {
					pauses += e.pauses
				}
				if pauses == len(ends) {
					pauses = 1 // each once
				}
				lines = append(lines, indent+"  "+o.pauseText(&list[c.first], fmt.Sprintf("%d hosts", len(ends)), pauses))
			}
		}
	}
	draw(root, 0)
	if left := len(lines) - most; left > 0 {
		lines = append(lines[:most], fmt.Sprintf("... and %d more", left))
	}
	return lines
}

// pauseText describes who paused whom, and when first.
func (o *Outcome) pauseText(p *sim.Pause, whom string, times int) string {
	text := fmt.Sprintf("%s paused %s (class %d) at %s", o.Nodes[p.Node], whom, p.Class, units.Human(float64(p.Sent), "ps", "ns", "us", "ms", "s"))
	if times > 1 {
		text += fmt.Sprintf(", %d times", times)
	}
	return text
}

// pauseColumns is the layout of pause_tree.parquet: one row per pause, ordered by time, then
// by node.
func (o *Outcome) pauseColumns() []probe.Column {
	return []probe.Column{
		{Name: "id", Doc: "pause number, from 0"},
		{Name: "parent", Nullable: true, Doc: "pause that caused it; null: none"},
		{Name: "root", Doc: "first pause of its tree"},
		{Name: "sent_ps", Doc: "when the PAUSE was sent"},
		{Name: "end_ps", Nullable: true, Doc: "when it ended by a RESUME or a link change; null: not before the end of the run"},
		{Name: "node", Type: probe.Text, Texts: o.Nodes, Doc: "node that sent it"},
		{Name: "port", Doc: "port that sent it"},
		{Name: "peer", Type: probe.Text, Texts: o.Nodes, Doc: "node that was paused"},
		{Name: "class", Doc: "traffic class that was paused"},
		{Name: "depth", Doc: "depth of the pause"},
	}
}

func (o *Outcome) writePauses(t *Table) error {
	for i := range o.Counters.Pauses {
		p := &o.Counters.Pauses[i]
		parent := int64(p.Parent)
		if parent < 0 {
			parent = probe.Null
		}
		err := t.Row([]int64{
			int64(i), parent, int64(p.Root), int64(p.Sent), orNull(p.Ended), int64(p.Node), int64(p.Port), int64(p.Peer.Node), int64(p.Class), int64(p.Depth),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
