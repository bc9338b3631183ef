package check

import (
	"strings"
	"testing"
)

// A frame of 1,048 B fits into an eighth of 10,000 B, 1,250 B, but not in cells of 254 B: it
// needs five, 1,270 B. It does not fit into a sixteenth, 625 B.
func TestAlwaysDropped(t *testing.T) {
	for _, c := range []struct {
		name, buffer, alpha, kind string
		found                     bool
	}{
		{"fits", "{size: 10000B}", "1/8", "lossy", false},
		{"in cells", "{size: 10000B, cell: 254B}", "1/8", "lossy", true},
		{"too small", "{size: 10000B}", "1/16", "lossy", true},
		{"private segment", "{size: 20000B, private_per_queue: 2000B}", "1/16", "lossy", false},
		{"lossless", "{size: 140000B}", "1/16", "lossless", false}, // paused, not dropped
	} {
		text := strings.NewReplacer("{size: 1000000B}", c.buffer, "alpha: 1/4", "alpha: 1/4, alpha_lossy: "+c.alpha, "kind: lossless", "kind: "+c.kind).Replace(oneSwitch) +
			"run: {stop: {at_most: 10ms}}\n"
		if c.kind == "lossy" {
			text = strings.NewReplacer("{name: pfc, headroom: 30000B}", "{name: none}", "cc: {name: dcqcn}", "reliability: {name: sack}").Replace(text)
		}
		var found []Finding
		for _, f := range findings(runCheck(t, text, Options{}), KindBuffer) {
			if strings.Contains(f.What, "even an empty queue of lossy class 3 has no room") {
				found = append(found, f)
			}
		}
		if (len(found) == 1) != c.found || len(found) > 1 || c.found && (found[0].Level != Problem || len(found[0].Where) != 4) {
			t.Errorf("%s: %+v", c.name, found)
		}
		// A run confirms it.
		_, fast := simulate(t, text)
		if done := fast.Totals().Finished; (done == 0) != c.found {
			t.Errorf("%s: %d flows finish in a run", c.name, done)
		}
	}
}
