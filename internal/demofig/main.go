// Command demofig draws docs/img/demo.svg: how the flows of the demo fare with
// and without PFC. Its arguments are the two result folders.
package main

import (
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/metrics"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: demofig FOLDER-WITH-PFC FOLDER-WITHOUT")
	}
	var curves []curve
	for i, folder := range os.Args[1:] {
		c, err := read(folder, []string{"with PFC", "without"}[i], []string{"#1f6feb", "#d1242f"}[i])
		if err != nil {
			log.Fatal(err)
		}
		curves = append(curves, c...)
	}
	if err := draw(os.Stdout, curves); err != nil {
		log.Fatal(err)
	}
}

// curve is the distribution of the slowdown of a workload.
type curve struct {
	name, colour, dash string
	slowdowns          []float64 // sorted
}

// flow is what is needed of a row of flows.parquet.
type flow struct {
	Workload string  `parquet:"workload"`
	Slowdown float64 `parquet:"slowdown,optional"`
	Measured bool    `parquet:"measured"`
	Finished bool    `parquet:"finished"`
}

// read returns one curve per workload of a run.
func read(folder, name, colour string) ([]curve, error) {
	rows, err := parquet.ReadFile[flow](filepath.Join(folder, "flows.parquet"))
	if err != nil {
		return nil, err
	}
	curves := []curve{
		{name: "incast " + name, colour: colour},
		{name: "background " + name, colour: colour, dash: "5 3"},
	}
	for _, r := range rows {
		if !r.Measured || !r.Finished {
			continue
		}
		c := &curves[1]
		if r.Workload == "incast" {
			c = &curves[0]
		}
		c.slowdowns = append(c.slowdowns, r.Slowdown)
	}
	for i := range curves {
		slices.Sort(curves[i].slowdowns)
	}
	return curves, nil
}

// The plane: slowdown from 1 to 2000 on a logarithmic axis, share of flows from 0
// to 1.
const (
	left, right  = 60.0, 610.0
	top, bottom  = 40.0, 290.0
	maxSlowdown  = 2000.0
	pointsOfLine = 200
)

func x(slowdown float64) float64 {
	return left + (right-left)*math.Log(max(1, slowdown))/math.Log(maxSlowdown)
}

func y(share float64) float64 { return bottom - (bottom-top)*share }

func draw(w io.Writer, curves []curve) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 345" font-family="sans-serif" font-size="12" fill="#24292f">`)
	line(`<rect width="640" height="345" fill="#ffffff"/>`)
	line(`<text x="%.0f" y="22" font-size="14">Slowdown of flows: 16-to-1 incasts on top of web search</text>`, left)
	for _, v := range []float64{1, 3, 10, 30, 100, 300, 1000} {
		line(`<path d="M%.1f %.1fV%.1f" stroke="#d8dee4"/><text x="%.1f" y="%.0f" text-anchor="middle">%.0f</text>`, x(v), top, bottom, x(v), bottom+16, v)
	}
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		line(`<path d="M%.1f %.1fH%.1f" stroke="#d8dee4"/><text x="%.0f" y="%.1f" text-anchor="end">%.0f %%</text>`, left, y(v), right, left-6, y(v)+4, v*100)
	}
	line(`<text x="%.1f" y="%.0f" text-anchor="middle">completion time over that in an empty network</text>`, (left+right)/2, bottom+36)
	for i, c := range curves {
		if len(c.slowdowns) == 0 {
			return fmt.Errorf("no finished flows of %s", c.name)
		}
		var path strings.Builder
		for k := range pointsOfLine + 1 {
			share := max(1, k*1000/pointsOfLine)
			op := "L"
			if k == 0 {
				op = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", op, x(metrics.NearestRank(c.slowdowns, share)), y(float64(share)/1000))
		}
		line(`<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, path.String(), c.colour, dash(c))
		row := 200 + float64(i)*20
		line(`<path d="M430 %.0fh30" stroke="%s" stroke-width="2"%s/><text x="468" y="%.0f">%s</text>`, row-4, c.colour, dash(c), row, c.name)
	}
	line(`</svg>`)
	_, err := io.WriteString(w, b.String())
	return err
}

func dash(c curve) string {
	if c.dash == "" {
		return ""
	}
	return ` stroke-dasharray="` + c.dash + `"`
}
