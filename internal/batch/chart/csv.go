package chart

import (
	"encoding/csv"
	"io"
	"strconv"
)

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Points returns the number of drawn points.
func (f *Figure) Points() int { return len(f.points) }

// WriteCSV writes the drawn points, in the units of results: ps, bytes, bits per second.
func (f *Figure) WriteCSV(w io.Writer) error {
	head := []string{"panel", "series", "x", "y", "low", "high", "runs"}
	if f.Kind == "box" {
		head = []string{"panel", "series", "x", "p1", "p25", "p50", "p75", "p99", "values"}
	}
	out := csv.NewWriter(w)
	if err := out.Write(head); err != nil {
		return err
	}
	for _, p := range f.points {
		line := []string{p.panel, p.series, p.x}
		for _, v := range p.numbers {
			line = append(line, number(v))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
