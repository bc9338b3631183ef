package publicsim

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

//go:embed fidelity.md.tmpl
var documentText string

var document = template.Must(template.New("fidelity").Funcs(template.FuncMap{
	"row": func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" },
}).Parse(documentText))

// Render writes docs/fidelity.md. Equal results give equal bytes.
func Render(w io.Writer, rows []*Fidelity) error {
	table := [][]string{append(slices.Clone(Columns), "verdict"), slices.Repeat([]string{"---"}, len(Columns)+1)}
	for _, f := range rows {
		table = append(table, append(f.Row(), f.Verdict()))
	}
	return document.Execute(w, table)
}

// Verdict returns "ok", or lists the tolerances that are exceeded.
func (f *Fidelity) Verdict() string {
	switch {
	case len(f.Problems) > 0:
		return strings.Join(f.Problems, "; ")
	case !f.Demands:
		return "no tolerance"
	}
	return "ok"
}

// pair formats a statistic of ours and of the reference; random runs show a range.
func (f *Fidelity) pair(ours, ref, low, high float64) string {
	switch {
	case f.OneRun:
		return fmt.Sprintf("%.4g..%.4g/%.4g", low, high, ref)
	case f.Seeds > 0:
		return fmt.Sprintf("%.4g/%.4g..%.4g", ours, low, high)
	}
	return fmt.Sprintf("%.4g/%.4g", ours, ref)
}

func (f *Fidelity) pauses() string {
	ref := "?"
	if f.RefPauses != nil {
		ref = fmt.Sprint(*f.RefPauses)
	}
	ours := fmt.Sprint(f.Pauses)
	if f.PauseLow != nil && *f.PauseLow < *f.PauseHigh {
		span := fmt.Sprintf("%d..%d", *f.PauseLow, *f.PauseHigh)
		if f.OneTrace {
			ours = span
		} else {
			ref = span
		}
	}
	return ours + "/" + ref
}

// Row returns the cells of a comparison's table row; see Columns.
func (f *Fidelity) Row() []string {
	return []string{
		f.Folder, f.Algorithm, string(f.Engine), fmt.Sprint(f.Flows), fmt.Sprint(f.Exact), fmt.Sprint(f.Within),
		fmt.Sprintf("%.3g %%", 100*f.Median), fmt.Sprintf("%.3g %%", 100*f.P99),
		f.pair(f.Ours.P50, f.Reference.P50, f.Low.P50, f.High.P50), f.pair(f.Ours.P95, f.Reference.P95, f.Low.P95, f.High.P95),
		f.pair(f.Ours.P99, f.Reference.P99, f.Low.P99, f.High.P99), f.pair(f.Ours.Mean, f.Reference.Mean, f.Low.Mean, f.High.Mean), f.pauses(),
	}
}

// Columns are the headings of Row.
var Columns = []string{
	"folder", "cc", "engine", "flows", "exact", "within 1 %", "median diff", "p99 diff",
	"slowdown p50 ours/ref", "p95", "p99", "mean", "pauses ours/ref",
}
