package report

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/browser"
	"github.com/xoff-net/xoff/internal/render/plot"
)

// interactive returns a document with a figure of every kind.
func interactive() *Document {
	clock := plot.Axis{Label: "time", Unit: plot.Seconds, Common: true, Min: new(0.0), Max: new(1e-3)}
	wave := plot.Series{Name: "wave", Style: plot.Style{Plain: true}}
	for i := range 3001 {
		wave.X, wave.Y = append(wave.X, float64(i)*1e-3/3000), append(wave.Y, 1e6*(1+math.Sin(float64(i)/200)))
	}
	steps := plot.Series{Name: "steps", X: []float64{0, 2e-4, 9e-4}, Y: []float64{1e5, 2e6, 5e5}}
	line := &plot.Figure{Title: "When", Wide: true, Panels: []plot.Panel{
		{Kind: plot.Spans, X: clock, Categories: []string{"leaf0.to-spine0", "leaf1.to-spine0"},
			Series: []plot.Series{{Name: "paused", X: []float64{1e-4, 4e-4, 2e-4}, Until: []float64{2e-4, 8e-4, 3e-4}, Y: []float64{0, 0, 1}}}},
		{Title: "bytes", X: clock, Y: plot.Axis{Label: "bytes", Unit: plot.Bytes}, Series: []plot.Series{wave, steps}},
	}}
	probe := &plot.Figure{Title: "Probe", Panels: []plot.Panel{{X: clock, Series: []plot.Series{wave}}}}
	rest := &plot.Figure{Title: "Rest", Panels: []plot.Panel{
		{Kind: plot.CDF, X: plot.Axis{Label: "slowdown", Log: true}, Series: []plot.Series{{Name: "web", X: []float64{1, 2, 30, 400}}}},
		{Kind: plot.Bars, Categories: []string{"small", "large"}, Series: []plot.Series{{Name: "median", Y: []float64{1, 2}}, {Name: "p99", Y: []float64{3, 40}}}},
	}}
	net := &plot.Network{Title: "Fabric", Measures: []plot.Measure{{Name: "paused", Unit: plot.Seconds}, {Name: "marked"}}}
	for i := range 20 {
		net.Nodes = append(net.Nodes, plot.Node{Name: fmt.Sprintf("host%d", i), Host: true})
	}
	for i := range 2 {
		net.Nodes = append(net.Nodes, plot.Node{Name: fmt.Sprintf("leaf%d", i), Text: "peak 1MB"})
	}
	for i := range 20 {
		l := plot.Link{A: i, B: 20 + i/10, AB: plot.Direction{Name: fmt.Sprintf("host%d.to-leaf%d", i, i/10), Text: "paused for 1us; 2 marked", Values: []float64{float64(i) * 1e-6, float64(20 - i)}}}
		l.BA = plot.Direction{Name: fmt.Sprintf("leaf%d.to-host%d", i/10, i), Values: []float64{0, 0}, Mark: i == 3}
		net.Links = append(net.Links, l)
	}
	net.Links = append(net.Links, plot.Link{A: 20, B: 21, Fault: "down"})
	d := example()
	d.Sections = append([]Section{{Heading: "What happened", Blocks: []Block{Lead("incast: 8 flows."), &Figure{Name: "net", Plot: net},
		&Figure{Name: "when", Plot: line}, &Figure{Name: "probe", Plot: probe}, &Figure{Name: "rest", Plot: rest}}}}, d.Sections...)
	return d
}

// On large and small screens, light and dark, the page loads nothing, has no errors, and its
// figures and tables react to the reader.
func TestBrowser(t *testing.T) {
	chromium := browser.Need(t)
	var b bytes.Buffer
	if err := interactive().HTML(&b); err != nil {
		t.Fatal(err)
	}
	browser.Use(t, chromium, b.String(), 40)
}

// The fabric of 1,024 hosts fits into the window, and a step of zooming takes little time.
func TestBrowserLarge(t *testing.T) {
	chromium := browser.Need(t)
	net := &plot.Network{Title: "Fabric", Measures: []plot.Measure{{Name: "paused", Unit: plot.Seconds}}}
	const hosts, leaves, spines = 1024, 32, 16
	for i := range hosts {
		net.Nodes = append(net.Nodes, plot.Node{Name: fmt.Sprintf("host%d", i), Host: true})
	}
	for i := range leaves + spines {
		name := fmt.Sprintf("leaf%d", i)
		if i >= leaves {
			name = fmt.Sprintf("spine%d", i-leaves)
		}
		net.Nodes = append(net.Nodes, plot.Node{Name: name})
	}
	link := func(a, b int) {
		from, to := net.Nodes[a].Name, net.Nodes[b].Name
		net.Links = append(net.Links, plot.Link{A: a, B: b, AB: plot.Direction{Name: from + ".to-" + to, Values: []float64{float64(a + b)}},
			BA: plot.Direction{Name: to + ".to-" + from, Values: []float64{float64(b)}}})
	}
	for i := range hosts {
		link(i, hosts+i/(hosts/leaves))
	}
	for i := range leaves * spines {
		link(hosts+i/spines, hosts+leaves+i%spines)
	}
	t2 := &Table{Columns: Heads("port", "paused|")}
	for i := range 90 {
		t2.Row(fmt.Sprintf("leaf%d.to-spine0", i), fmt.Sprintf("%dus", i*37%90))
	}
	d := &Document{Title: "Large", Sections: []Section{{Heading: "What happened", Blocks: []Block{&Figure{Name: "net", Plot: net}, t2}}}}
	var b bytes.Buffer
	if err := d.HTML(&b); err != nil {
		t.Fatal(err)
	}
	browser.Use(t, chromium, b.String(), 18)
}
