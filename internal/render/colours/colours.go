// Package colours returns the colours of schemes in figures, so that a scheme has the same
// colour in every figure. Reports and figures of papers use it. A scheme names its colour in
// its registry entry.
package colours

import (
	"sync"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/scenario"
)

// Of returns the colour of a scheme by its lower-case name or an alias. If schemes of
// different kinds share a name, it returns the colour of the first.
func Of(name string) (plot.Colour, bool) {
	if name == "ideal" { // the baseline of comparisons
		name = "none"
	}
	c, ok := byName()[name]
	return c, ok
}

// byName returns the colours of the schemes that were registered before the first figure.
var byName = sync.OnceValue(func() map[string]plot.Colour {
	colours := make(map[string]plot.Colour)
	for _, k := range scenario.Kinds() {
		for _, s := range k.Schemes {
			c, ok := plot.ColourNamed(s.Colour)
			for _, name := range append([]string{s.Name}, s.Alias...) {
				if _, known := colours[name]; ok && !known {
					colours[name] = c
				}
			}
		}
	}
	return colours
})
