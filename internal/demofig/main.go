// Command demofig draws docs/img/demo.svg: how the flows of the demo fare with
// and without PFC. Its arguments are the two result folders.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/xoff-net/xoff/internal/colours"
	"github.com/xoff-net/xoff/internal/plot"
	"github.com/xoff-net/xoff/internal/runreport"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: demofig FOLDER-WITH-PFC FOLDER-WITHOUT")
	}
	p := plot.Panel{
		Kind: plot.CDF,
		X:    plot.Axis{Label: "completion time over that in an empty network", Log: true},
		Y:    plot.Axis{Label: "flows"},
	}
	for i, folder := range os.Args[1:] {
		curves, err := read(folder, []string{"with PFC", "without"}[i], []string{"PFC", "none"}[i])
		if err != nil {
			log.Fatal(err)
		}
		p.Series = append(p.Series, curves...)
	}
	f := plot.Figure{Colours: colours.Of, Title: "Slowdown of flows: 16-to-1 incasts on top of web search", Panels: []plot.Panel{p}}
	if err := f.SVG(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// read returns the distribution of slowdown of each workload of a run.
func read(folder, name, colour string) ([]plot.Series, error) {
	list, err := runreport.ReadSlowdowns(folder)
	if err != nil {
		return nil, err
	}
	var curves []plot.Series
	for _, w := range list {
		dash := plot.Dashed
		if w.Workload == "incast" {
			dash = plot.Solid
		}
		curves = append(curves, plot.Series{Name: w.Workload + " " + name, X: w.Values, Style: plot.Style{Like: colour, Dash: dash}})
	}
	if len(curves) != 2 {
		return nil, fmt.Errorf("%s has %d workloads; the demo has two", folder, len(curves))
	}
	return curves, nil
}
