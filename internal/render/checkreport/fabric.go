package checkreport

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/internal/render/runreport"
	"github.com/xoff-net/xoff/topo"
)

// maxChoices is the maximum number of findings that a picture can highlight one by one.
const maxChoices = 12

// picture draws a fabric and highlights findings in it.
type picture struct {
	graph *topo.Graph
	net   *plot.Network
	where map[string][]*plot.Direction // directions by the names of nodes, ports and links
	all   map[*plot.Direction]*spot
	steps []plot.Step
}

// spot collects what findings say about a direction.
type spot struct {
	worst float64
	names []string
}

// newPicture draws a fabric. The steps are the levels of findings, best first.
func newPicture(g *topo.Graph, topology string, columns int, steps []plot.Step) *picture {
	p := &picture{graph: g, net: &plot.Network{Title: "Where findings are"},
		where: make(map[string][]*plot.Direction), all: make(map[*plot.Direction]*spot), steps: steps}
	for i, name := range g.Names {
		p.net.Nodes = append(p.net.Nodes, plot.Node{Name: name, Host: i < g.Hosts})
	}
	p.net.Links = make([]plot.Link, len(g.Links))
	for i, l := range g.Links {
		link := &p.net.Links[i]
		link.A, link.B = l.A, l.B
		p.port(&link.AB, l.A, l.PortA, l.B)
		p.port(&link.BA, l.B, l.PortB, l.A)
		p.where[g.LinkName(i)] = append(p.where[g.LinkName(i)], &link.AB, &link.BA)
	}
	runreport.Arrange(p.net, topology, columns)
	p.net.Measures = []plot.Measure{{Name: "all findings", Title: p.net.Title, Max: 1, Steps: steps}}
	return p
}

// port names a direction and makes it known by the names of its port and node.
func (p *picture) port(d *plot.Direction, node, port, peer int) {
	number, neighbour := p.graph.PortNames(node, port, peer)
	d.Name = number
	for _, name := range []string{number, neighbour, p.graph.Names[node]} {
		p.where[name] = append(p.where[name], d)
	}
	p.all[d] = &spot{}
}

// highlight adds a finding to the ports, nodes and links with the given names. Unknown names
// are ignored.
func (p *picture) highlight(name, title string, worst float64, names []string) {
	at := make(map[*plot.Direction]bool)
	for _, n := range names {
		for _, d := range p.where[n] {
			at[d] = true
		}
	}
	if len(at) == 0 {
		return
	}
	choice := len(p.net.Measures) <= maxChoices
	if choice {
		p.net.Measures = append(p.net.Measures, plot.Measure{Name: name, Title: short(title), Max: 1,
			Steps: []plot.Step{{Value: 0, Text: "other ports"}, {Value: 1, Text: "ports of the finding"}}})
	}
	for d, s := range p.all {
		if at[d] {
			s.worst, s.names = max(s.worst, worst), append(s.names, name)
		}
		if choice {
			value := 0.0
			if at[d] {
				value = 1
			}
			d.Values = append(d.Values, value)
		}
	}
}

// describe sets the text that the pointer shows over a node.
func (p *picture) describe(node, text string) {
	if i := p.graph.Node(node); i >= 0 {
		p.net.Nodes[i].Text = text
	}
}

// figure returns the picture.
func (p *picture) figure() report.Block {
	for i, l := range p.graph.Links {
		for _, d := range []*plot.Direction{&p.net.Links[i].AB, &p.net.Links[i].BA} {
			s := p.all[d]
			found := "no finding"
			if len(s.names) > 0 {
				found = strings.Join(s.names, ", ")
			}
			d.Text = fmt.Sprintf("%s; %s, %s", found, l.Rate, l.Delay)
			d.Values = append([]float64{s.worst}, d.Values...)
		}
	}
	return runreport.Drawing(p.net)
}

// short cuts a title that does not fit into a line of a small screen.
func short(title string) string {
	const most = 52
	if letters := []rune(title); len(letters) > most {
		return strings.TrimRight(string(letters[:most-1]), " ,:;(") + "…"
	}
	return title
}

func bytes(b units.Bytes) string { return units.Thousands(uint64(max(b, 0))) + " B" }
