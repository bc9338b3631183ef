package colours

import (
	"testing"

	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/scenario"
)

// Every colour that an entry names exists, and schemes that papers compare with each
// other have different ones.
func TestColours(t *testing.T) {
	for _, k := range scenario.Kinds() {
		for _, s := range k.Schemes {
			if _, ok := plot.ColourNamed(s.Colour); s.Colour != "" && !ok {
				t.Errorf("%s %s has the colour %q, which there is none of", k.Name, s.Name, s.Colour)
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
				t.Errorf("%s has no colour, or that of %s", n, was)
			}
			seen[c] = n
		}
	}
	if _, ok := Of("stranger"); ok {
		t.Error("a name that nobody knows has a colour")
	}
}
