package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/batch/chart"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

// plotFormats are the formats of xoff plot.
var plotFormats = []string{"pdf", "svg", "png"}

// plotFlags are the flags of xoff plot.
type plotFlags struct {
	chart.Query
	where  []string
	format string
	size   string
	file   string
	data   string
	code   string
}

func (a *app) plotCommand() *cobra.Command {
	f := &plotFlags{}
	cmd := &cobra.Command{
		Use:   "plot RESULTS...",
		Short: "Draw a figure of runs, sweeps or comparisons for a paper",
		Long: `Draw a figure of runs, sweeps or comparisons for a paper, as PDF, SVG or PNG. RESULTS are
results folders, or files of xoff reproduce --save. Points are means over seeds with 95 %
intervals; bands of distributions and of time span the seeds. See docs/plot.md.

  xoff plot results/mine-seed1 --y slowdown --by workload
  xoff plot results/mine-sweep --kind lines --x alpha --y fct.p99,slowdown.p99 --by cc
  xoff plot results/mine-seed1 --y stored.bytes --by node --format svg
  xoff plot results/mine-sweep --kind heat --x alpha --by load.share --y pauses.blocked`,
		Args: minOneArg,
		RunE: func(_ *cobra.Command, args []string) error { return a.plot(args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Kind, "kind", "", "`KIND` of figure: "+strings.Join(chart.Kinds, ", ")+" (default: by the data)")
	flags.StringVar(&f.X, "x", "", "`KEY` of the x axis: a varied key, run, seed, workload or size (default: the varied key with most numbers)")
	flags.StringSliceVar(&f.Y, "y", nil, "`METRICS`, one panel each: numbers such as fct.p99, or columns such as slowdown and PROBE.bytes (default slowdown)")
	flags.StringSliceVar(&f.By, "by", nil, "`KEYS` that distinguish series (default: the other varied keys)")
	flags.StringVar(&f.Panels, "panels", "", "`KEY` that distinguishes panels")
	flags.StringSliceVar(&f.Workloads, "workload", nil, "`NAMES` of workloads, one panel each (default: all flows together)")
	flags.StringArrayVar(&f.where, "where", nil, "`KEY=VALUE` of the runs to draw; may be repeated")
	flags.StringVar(&f.format, "format", "", "`FORMAT` of the figure: pdf, svg or png (default: by the file name, else pdf)")
	flags.StringVar(&f.size, "size", "3.3in", "`SIZE` on paper: WIDTH or WIDTHxHEIGHT in in, cm, mm or pt")
	flags.StringVar(&f.Log, "log", "", "logarithmic `AXES`: x, y, x,y or none (default: x of distributions over powers of ten)")
	flags.StringVar(&f.Title, "title", "", "`TEXT` above the figure")
	flags.StringVar(&f.XLabel, "x-label", "", "`TEXT` of the x axis (default: the key)")
	flags.StringVar(&f.YLabel, "y-label", "", "`TEXT` of the values' axis, without unit (default: the metric)")
	flags.StringVar(&f.data, "data", "", "CSV `FILE` for the points")
	flags.StringVar(&f.code, "code", "", "Python `FILE` for a matplotlib script that draws the same from the results")
	flags.StringVarP(&f.file, "output", "o", "", "`FILE` for the figure (default KIND-METRIC.FORMAT)")
	a.printFlags(cmd)
	return cmd
}

// plot draws a figure and prints the paths of its files.
func (a *app) plot(paths []string, f *plotFlags) error {
	if err := f.chooseFormat(); err != nil {
		return wrap(exitInput, err)
	}
	var err error
	if f.Print, err = plot.ParsePrint(f.size); err != nil {
		return wrap(exitInput, err)
	}
	d, err := chart.Read(paths)
	if err != nil {
		return wrap(exitInput, err)
	}
	for _, w := range f.where {
		if err := d.Where(w); err != nil {
			return wrap(exitInput, err)
		}
	}
	fig, err := d.Draw(&f.Query)
	if err != nil {
		return wrap(exitInput, err)
	}
	if f.file == "" {
		f.file = fig.Name() + "." + f.format
	}
	for _, pair := range [][2]string{{f.file, f.data}, {f.file, f.code}, {f.data, f.code}} {
		if pair[0] != "" && pair[1] != "" && filepath.Clean(pair[0]) == filepath.Clean(pair[1]) {
			return failf(exitInput, "%s is the name of two files (expected different names for the figure, --data and --code)", pair[0])
		}
	}
	draw := map[string]func(io.Writer) error{"pdf": fig.Plot.PDF, "svg": fig.Plot.SVG, "png": fig.Plot.PNG}[f.format]
	files := []string{f.file}
	if err := disk.WriteFile(f.file, draw); err != nil {
		return wrap(exitFailure, err)
	}
	if f.data != "" {
		files = append(files, f.data)
		if err := disk.WriteFile(f.data, fig.WriteCSV); err != nil {
			return wrap(exitFailure, err)
		}
	}
	if f.code != "" {
		files = append(files, f.code)
		if err := disk.WriteFile(f.code, func(w io.Writer) error { return fig.WriteCode(w, filepath.ToSlash(f.file)) }); err != nil {
			return wrap(exitFailure, err)
		}
	}
	if a.json {
		return wrap(exitFailure, a.printJSON(struct {
			Figure string `json:"figure"`
			Data   string `json:"data,omitempty"`
			Code   string `json:"code,omitempty"`
			Kind   string `json:"kind"`
			Panels int    `json:"panels"`
			Points int    `json:"points"`
		}{f.file, f.data, f.code, fig.Kind, len(fig.Plot.Panels), fig.Points()}))
	}
	if !a.quiet {
		fmt.Fprintln(a.out, strings.Join(files, "\n"))
	}
	return nil
}

// chooseFormat chooses the format of the figure by flag or file name.
func (f *plotFlags) chooseFormat() error {
	ending := strings.TrimPrefix(filepath.Ext(f.file), ".")
	switch {
	case f.format != "" && !slices.Contains(plotFormats, f.format):
		return registry.Unknown("figure format", f.format, plotFormats)
	case f.format != "" && slices.Contains(plotFormats, ending) && ending != f.format:
		return fmt.Errorf("%s is not the name of a file in format %s (expected -o NAME.%s, or no --format)", f.file, f.format, f.format)
	case f.format != "":
	case f.file == "":
		f.format = plotFormats[0]
	case !slices.Contains(plotFormats, ending):
		return registry.Unknown("figure format", ending, plotFormats)
	default:
		f.format = ending
	}
	return nil
}
