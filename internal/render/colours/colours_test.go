package colours

import (
	"testing"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/scenario"
)

// Every colour in the registry exists, and schemes that papers compare have different
// colours.
func TestColours(t *testing.T) {
	for _, k := range scenario.Kinds() {
		for _, s := range k.Schemes {
			if _, ok := plot.ColourNamed(s.Colour); s.Colour != "" && !ok {
				t.Errorf("%s %s has the unknown colour %q", k.Name, s.Name, s.Colour)
			}
		}
	}
	for _, family := range [][]string{
		{"dsh", "sih", "adaptive", "oversubscription"}, {"dt", "static"}, {"dcqcn", "hpcc", "powertcp", "timely", "none"}, {"dctcp", "cubic", "newreno"},
	} {
		seen := map[plot.Colour]string{}
		for _, n := range family {
			c, ok := Of(n)
			if was := seen[c]; !ok || was != "" {
				t.Errorf("%s has no colour, or the same as %q", n, was)
			}
			seen[c] = n
		}
	}
	if _, ok := Of("stranger"); ok {
		t.Error("an unknown name has a colour")
	}
}
