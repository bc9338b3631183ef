// Package colours gives schemes their colours in figures, so that one looks the same
// wherever it is drawn. Each names its own in its entry of the registry.
package colours

import (
	"slices"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/scenario"
)

// Of returns the colour of a scheme by its name, in lower case, or another name that
// figures know it by. Schemes of different kinds may share a name; the first counts.
func Of(name string) (plot.Colour, bool) {
	if name == "ideal" { // what schemes are held against
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
