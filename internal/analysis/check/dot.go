package check

import (
	"fmt"
	"io"
	"strings"
)

// drawing is the dependency graph that WriteDot draws: the first one with cycles, or else the
// graph without failures.
type drawing struct {
	traffic *Traffic
	down    []bool
	cycles  []Cycle
}

func (r *Report) draw(t *Traffic, down []bool, cycles []Cycle) {
	if r.drawn == nil || len(r.drawn.cycles) == 0 {
		r.drawn = &drawing{t, down, cycles}
	}
}

// WriteDot writes the buffer dependencies for Graphviz. Nodes are directions of links and
// stand for the ingress queue at their end; cycles are red.
func (r *Report) WriteDot(w io.Writer) error {
	d := r.drawn
	if d == nil {
		_, err := fmt.Fprint(w, "digraph dependencies {\n  label=\"no lossless class\";\n}\n")
		return err
	}
	deps := r.fabric.Dependencies(d.traffic, d.down)
	red := make(map[turn]bool)
	in := make(map[int32]bool)
	for _, c := range d.cycles {
		for i, ch := range c.queues {
			red[turn{ch, c.queues[(i+1)%len(c.queues)]}] = true
			in[ch] = true
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "digraph dependencies {\n  label=%q;\n  node [shape=box, fontname=\"sans-serif\"];\n", r.title(d))
	name := func(q int32) string {
		c := deps.channel(q)
		e, suffix := r.fabric.ends[c], ""
		if deps.layers > 1 && !r.fabric.joined(c) {
			suffix = ", " + classes(d.traffic.layers[deps.layer(q)].Classes)
		}
		return fmt.Sprintf("%s > %s%s%s", r.fabric.switchName(e.from), r.fabric.switchName(e.to), r.fabric.lane(c), suffix)
	}
	const mark = " [color=red, penwidth=2]"
	var list []int32
	for c := range int32(deps.queues()) {
		list = deps.waits(list[:0], c)
		if in[c] {
			fmt.Fprintf(&b, "  %q%s;\n", name(c), mark)
		}
		for _, n := range list {
			colour := ""
			if red[turn{c, n}] {
				colour = mark
			}
			fmt.Fprintf(&b, "  %q -> %q%s;\n", name(c), name(n), colour)
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// lane returns the number of a channel among parallel cables, such as #1; "" if there is one.
func (f *Fabric) lane(c int32) string {
	if l := &f.graph.Links[c/2]; l.Lanes > 1 {
		return fmt.Sprintf("#%d", l.Lane)
	}
	return ""
}

func (r *Report) title(d *drawing) string {
	title := fmt.Sprintf("%s: buffer dependencies of %s", r.Scenario, classes(d.traffic.Classes))
	var links []string
	for i, down := range d.down {
		if down {
			links = append(links, r.fabric.graph.LinkName(i))
		}
	}
	if len(links) > 0 {
		title += fmt.Sprintf(" with %s down", list(links))
	}
	return title
}
