package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xoff-net/xoff/internal/render/plot"
)

//go:embed testdata/before.js
var beforePage string

//go:embed testdata/after.js
var afterPage string

// chromium returns the path of a browser. It skips the test if there is none.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs chromium")
	return ""
}

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
// figures react to the pointer.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser four times")
	}
	browser := chromium(t)
	var b bytes.Buffer
	if err := interactive().HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := strings.Replace(b.String(), "<title>", "<script>"+beforePage+"</script><title>", 1)
	page = strings.Replace(page, "</body>", "<script>"+afterPage+"</script></body>", 1)
	for _, width := range []int{1280, 390} {
		path := filepath.Join(t.TempDir(), "page.html")
		if width < 500 { // browser windows are not narrower: use a frame
			page = fmt.Sprintf(`<!DOCTYPE html><html><body><iframe style="border:0" width="%d" height="800" srcdoc="%s"></iframe></body></html>`,
				width, html.EscapeString(page))
		}
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, dark := range []bool{false, true} {
			look(t, browser, path, width, dark)
		}
	}
}

// look opens a page in a browser and reports its failed checks.
func look(t *testing.T, browser, path string, width int, dark bool) {
	name := fmt.Sprintf("%d px, dark %t", width, dark)
	scheme := 1
	if dark {
		scheme = 0
	}
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1", "--virtual-time-budget=5000",
		fmt.Sprintf("--window-size=%d,900", max(width, 500)), fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme),
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+path)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	_, rest, found := strings.Cut(string(out), `<pre id="result">`)
	text, _, _ := strings.Cut(rest, "</pre>")
	var got struct {
		Width      int
		Dark       bool
		Wrong, Did []string
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(text)), &got); !found || err != nil {
		t.Fatalf("%s: the page has no result: %v\n%.2000s", name, err, out)
	}
	if got.Width != width || got.Dark != dark || len(got.Did) < 25 {
		t.Errorf("%s: the browser had %d px, dark %t, and ran %d checks", name, got.Width, got.Dark, len(got.Did))
	}
	for _, w := range got.Wrong {
		t.Errorf("%s: failed: %s", name, w)
	}
}
