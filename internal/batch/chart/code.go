package chart

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/plot"
)

//go:embed figure.py
var script string

// unitNames are the units as the script names them.
var unitNames = map[plot.Unit]string{plot.Seconds: "s", plot.Bytes: "B", plot.BitRate: "bps"}

// WriteCode writes a matplotlib script that draws the figure from the files of the results,
// which it finds from the current folder. By default it writes to output.
func (f *Figure) WriteCode(w io.Writer, output string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/usr/bin/env python3\n\"\"\"Draw %s, as `xoff plot` does: %s [FILE]\n\n", f.plan.metrics[0].typed, "python3 SCRIPT")
	b.WriteString("Needs matplotlib, pandas and pyarrow. Run it in the folder in which xoff plot was run.\n\"\"\"\n")
	b.WriteString("import bisect\nimport functools\nimport json\nimport math\nimport sys\nfrom pathlib import Path\n\n" +
		"import matplotlib\nimport matplotlib.pyplot as plt\nimport matplotlib.ticker\nimport pandas as pd\n\n")
	size := [2]float64{5, 3.2}
	if p := f.plan.Print; p != nil {
		width, height := f.Plot.PrintSize()
		size = [2]float64{width / 72, height / 72}
	}
	fmt.Fprintf(&b, "OUTPUT = %s\nKIND = %s\nTITLE = %s\nSIZE = (%.4g, %.4g)  # inches\nCOLUMNS = %d\n",
		python(output), python(f.Kind), python(f.plan.Title), size[0], size[1], f.Plot.PanelColumns())
	fmt.Fprintf(&b, "TABLE = %s  # of each run; empty: numbers per run\n", python(f.plan.metrics[0].table))
	f.writeAxis(&b)
	fmt.Fprintf(&b, "COLOURS = {\n")
	var series []string
	most := 1
	for _, c := range f.cells {
		most = max(most, len(c.sources))
		if !slices.Contains(series, c.series) {
			series = append(series, c.series)
			name := c.series
			if len(f.Plot.Panels[0].Series) == 1 {
				name = ""
			}
			fmt.Fprintf(&b, "    %s: %s,\n", python(c.series), python(f.Plot.Colour(name)))
		}
	}
	b.WriteString("}\n")
	b.WriteString("STUDENT = {")
	for n := 2; n <= most; n++ {
		fmt.Fprintf(&b, "%d: %.6g, ", n, sweep.StudentT(float64(n-1)))
	}
	b.WriteString("}  # 95 % quantiles by number of seeds\nPANELS = [\n")
	for i := range f.Plot.Panels {
		f.writePanel(&b, &f.Plot.Panels[i], f.names[i])
	}
	b.WriteString("]\n" + script)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAxis writes the values of the x axis: their order, labels and numbers.
func (f *Figure) writeAxis(b *strings.Builder) {
	var xs []string
	for _, c := range f.cells {
		if !slices.Contains(xs, c.x) {
			xs = append(xs, c.x)
		}
	}
	xs = ordered(xs)
	var order, labels, numbers []string
	list, unit, isNumber := quantities(xs)
	for i, x := range xs {
		order = append(order, python(x))
		labels = append(labels, python(x)+": "+python(sweep.ShortValue(x)))
		if isNumber {
			numbers = append(numbers, python(x)+": "+number(list[i]))
		}
	}
	fmt.Fprintf(b, "ORDER = [%s]\nLABELS = {%s}\nX = {%s}\nXUNIT = %s\n",
		strings.Join(order, ", "), strings.Join(labels, ", "), strings.Join(numbers, ", "), python(unitNames[unit]))
}

func (f *Figure) writePanel(b *strings.Builder, p *plot.Panel, name string) {
	axis := f.axes[name]
	rows := ""
	if f.Kind == "heat" {
		rows = p.Y.Label
	}
	share, xlog := "", p.X.Log
	if f.Kind == "cdf" {
		share = p.Y.Label
	}
	truth := map[bool]string{false: "False", true: "True"}
	fmt.Fprintf(b, "    {\"title\": %s, \"label\": %s, \"unit\": %s, \"x\": %s, \"rows\": %s, \"share\": %s, \"xlog\": %s, \"ylog\": %s, \"cells\": [\n",
		python(p.Title), python(axis.Label), python(unitNames[axis.Unit]), python(p.X.Label), python(rows), python(share), truth[xlog], truth[p.Y.Log || p.Z.Log])
	for _, c := range f.cells {
		if c.panel != name {
			continue
		}
		fmt.Fprintf(b, "        {\"series\": %s, \"x\": %s, \"runs\": [\n", python(c.series), python(c.x))
		for _, s := range c.sources {
			var where []string
			for _, w := range s.where {
				where = append(where, python(w[0])+": "+python(w[1]))
			}
			fmt.Fprintf(b, "            (%s, %s, {%s}),\n", python(filepath.ToSlash(s.record.source)), python(s.metric), strings.Join(where, ", "))
		}
		b.WriteString("        ]},\n")
	}
	b.WriteString("    ]},\n")
}

// python returns a text as a literal, which is the same in JSON.
func python(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // every string can be encoded
	}
	return string(data)
}
