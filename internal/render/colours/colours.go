// Package colours returns the colours of schemes in figures, so that a scheme has the same
// colour in every figure. Reports and figures of papers use it. A scheme names its colour in
// its registry entry.
package colours

import (
	"slices"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/scenario"
)

// Of returns the colour of a scheme by its lower-case name or an alias. If schemes of
// different kinds share a name, it returns the colour of the first.
func Of(name string) (plot.Colour, bool) {
	if name == "ideal" { // the baseline of comparisons
		name = "none"
	}
	for _, k := range scenario.Kinds() {
		for _, s := range k.Schemes {
			if s.Colour != "" && (s.Name == name || slices.Contains(s.Alias, name)) {
				return plot.ColourNamed(s.Colour)
			}
		}
	}
	return 0, false
}
