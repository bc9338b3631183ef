package plot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected files; if $GALLERY is set, write PNG files to that folder")

// draws is a random number generator.
type draws uint64

func (d *draws) next() float64 {
	*d = *d*6364136223846793005 + 1442695040888963407
	return float64(*d>>11) / (1 << 53)
}

// papers returns the colours of some names.
func papers(name string) (Colour, bool) {
	c, ok := map[string]Colour{
		"dsh": 0, "sih": 1, "adaptive": 2, "oversubscription": 3, "pfc": 1, "bifrost": 2, "bifrostx": 0, "cbfc": 4, "swing": 3,
		"dt": 1, "abm": 4, "powertcp": 0, "dcqcn": 1, "hpcc": 2, "none": 6,
	}[name]
	return c, ok
}

// gallery returns small figures of every kind.
func gallery() map[string]*Figure {
	var d draws = 1
	var fast, slow []float64
	for range 300 {
		fast = append(fast, 1+3*d.next()*d.next())
		slow = append(slow, 1+30*d.next()*d.next()*d.next())
	}
	for range 20 {
		slow = append(slow, math.Inf(1)) // unfinished
	}
	loads := []float64{0.1, 0.3, 0.5, 0.7, 0.9}
	var lines []Series
	for i, n := range []string{"SIH", "DSH", "Adaptive", "Oversubscription"} {
		s := Series{Name: n, X: loads}
		for _, x := range loads {
			v := float64(4-i) / (1.05 - x)
			s.Y, s.Low, s.High = append(s.Y, v), append(s.Low, v*0.9), append(s.High, v*1.1)
		}
		lines = append(lines, s)
	}
	saw := Series{Name: "leaf0"}
	for i := range 3000 {
		saw.X, saw.Y = append(saw.X, float64(i)*1e-6), append(saw.Y, 4e6*float64(i%700)/700)
	}
	var cloud Series // points at the edges, labels that must avoid each other
	for i := range 40 {
		v := float64(i)*5 - 100
		cloud.X, cloud.Y = append(cloud.X, v), append(cloud.Y, v+60*(d.next()-0.5))
		cloud.Low, cloud.High = append(cloud.Low, v-40), append(cloud.High, v+40)
		cloud.Labels = append(cloud.Labels, map[int]string{0: "first", 1: "second", 20: "zero", 39: "last"}[i])
	}
	cloud.Name, cloud.Style.Points = "DSH", true
	all := map[string]*Figure{
		"compare": {Title: "Points with labels, and bars with ticks", Columns: 1, Height: 300, Panels: []Panel{
			{X: Axis{Unit: Percent, Min: new(-100.0), Max: new(100.0)}, Y: Axis{Unit: Percent, Min: new(-100.0), Max: new(100.0)}, Series: []Series{cloud}},
			{Kind: Spans, X: Axis{Unit: Percent, Min: new(-100.0), Max: new(100.0)}, Categories: []string{"inside", "beyond the axis", "no interval"}, Series: []Series{
				{Name: "ours", X: []float64{-40, 0, -10}, Until: []float64{0, 300, 0}, Y: []float64{0, 1, 2}, Low: []float64{-60, -120, math.NaN()}, High: []float64{-20, 120, math.NaN()}},
				{Name: "paper", X: []float64{-50, -150, 5}, Y: []float64{0, 1, 2}, Style: Style{Points: true}},
			}},
		}},
		"lines": {Title: "Fan-in FCT against background load", Panels: []Panel{
			{Title: "(a) average", X: Axis{Label: "background load"}, Y: Axis{Label: "slowdown"}, Series: lines, Notes: []string{"5 seeds, bars are 95 % intervals"}},
			{Title: "(b) 99th percentile", X: Axis{Label: "background load", Unit: Share}, Y: Axis{Label: "slowdown", Log: true}, Series: lines},
		}},
		"bars": {Title: "Pause frames", Panels: []Panel{{
			Kind: Bars, Y: Axis{Label: "pauses"}, Categories: []string{"web search", "cache", "data mining", "hadoop"}, Series: []Series{
				{Name: "SIH", Y: []float64{25000, 18000, 9000, 12000}, Low: []float64{23000, 17000, 8000, 11000}, High: []float64{27000, 19000, 10000, 13000}},
				{Name: "DSH", Y: []float64{1200, 900, 20, math.NaN()}, Low: []float64{1000, 800, 0, 0}, High: []float64{1400, 1000, 40, 0}},
				{Name: "Adaptive", Y: []float64{9000, 8000, 7000}},
			},
		}}},
		"cdf": {Title: "Slowdown", Panels: []Panel{{
			Kind: CDF, X: Axis{Label: "slowdown", Log: true}, Y: Axis{Label: "flows"},
			Series: []Series{{Name: "PFC", X: fast}, {Name: "none", X: slow}, Spread("DT", fast[:20], fast[30:60], fast[100:140])},
		}}},
		"series": {Panels: []Panel{{X: Axis{Label: "time", Unit: Seconds}, Y: Axis{Label: "buffer", Unit: Bytes}, Series: []Series{saw}}}},
		"three": {Title: "Three panels & <odd> ones", Columns: 3, Panels: []Panel{
			{Title: "(a) FCT", X: Axis{Label: "size", Unit: Bytes, Log: true}, Y: Axis{Label: "FCT", Unit: Seconds, Log: true}, Series: []Series{{Name: "SIH", X: []float64{1e3, 1e4, 1e5, 1e6, 1e7}, Y: []float64{1e-6, 5e-6, 2e-5, 2e-4, 5e-3}}}},
			{Title: "(b) nothing"},
			{Title: "(c) constant, and one point", Series: []Series{{Name: "ABM", X: []float64{1, 2, 3}, Y: []float64{7, 7, 7}}, {Name: "one", X: []float64{2}, Y: []float64{5}}}},
			{Title: "(d) long names", Kind: Bars, Categories: []string{"leaf0-to-spine0", "leaf0-to-spine1", "leaf1-to-spine0", "leaf1-to-spine1", "leaf2-to-spine0", "leaf2-to-spine1"}, Y: Axis{Label: "below zero"}, Series: []Series{{Y: []float64{1, -2, 3, -4, 5, math.Inf(1)}}}},
			{Title: "(e) cut off", Y: Axis{Min: new(2.0), Max: new(4.0)}, Series: []Series{{Name: "HPCC", X: []float64{0, 1, 2, 3}, Y: []float64{1, 3, 5, 3}}}},
		}},
	}
	for _, f := range all {
		f.Colours = papers
	}
	return all
}

// names returns the sorted names of the gallery.
func names(m map[string]*Figure) []string {
	var list []string
	for n := range m {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// Figures equal the expected files, which were reviewed by eye.
func TestGolden(t *testing.T) {
	figures := gallery()
	var sums strings.Builder
	for _, name := range names(figures) {
		f := figures[name]
		var svg bytes.Buffer
		if err := f.SVG(&svg); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".svg"), svg.Bytes())
		sums.WriteString(name + " " + pixelSum(f.scene(wide)) + "\n")
		if folder := os.Getenv("GALLERY"); *rewrite && folder != "" {
			w, err := os.Create(filepath.Join(folder, name+".png"))
			if err != nil {
				t.Fatal(err)
			}
			if err := f.PNG(w); err != nil {
				t.Fatal(err)
			}
			_ = w.Close()
		}
	}
	sums.WriteString("scribble " + pixelSum(scribble()) + "\n")
	// Compare pixels rather than files: compression may change between Go releases.
	golden(t, filepath.Join("testdata", "pixels.txt"), []byte(sums.String()))
}

func pixelSum(s *scene) string {
	sum := sha256.Sum256(s.image().Pix)
	return hex.EncodeToString(sum[:])
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the figure; review it, then run go test ./internal/render/plot -run Golden -rewrite", path)
	}
}

func TestPNG(t *testing.T) {
	f := gallery()["bars"]
	var a, b bytes.Buffer
	if err := f.PNG(&a); err != nil {
		t.Fatal(err)
	}
	if err := f.PNG(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two drawings of the same figure differ")
	}
	img, err := png.Decode(&a)
	if err != nil {
		t.Fatal(err)
	}
	// One panel of 640 and two margins of 16, times two.
	if got := img.Bounds().Dx(); got != 1344 {
		t.Errorf("the image is %d pixels wide, want 1344", got)
	}
	seen := map[[3]uint8]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, alpha := img.At(x, y).RGBA()
			if alpha != 0xffff {
				t.Fatalf("pixel %d,%d is not opaque", x, y)
			}
			seen[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}]++
		}
	}
	for name, c := range map[string][3]uint8{"SIH, vermillion": {0xd5, 0x5e, 0}, "DSH, blue": {0, 0x72, 0xb2}, "Adaptive, green": {0, 0x9e, 0x73}, "paper": {255, 255, 255}} {
		if seen[c] < 500 {
			t.Errorf("%s has %d pixels", name, seen[c])
		}
	}
}

func TestInlineHasNoStyle(t *testing.T) {
	var b bytes.Buffer
	if err := gallery()["lines"].Inline(&b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<style", "<rect", "id=", "<?xml"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("a figure for a page has %s", bad)
		}
	}
}
