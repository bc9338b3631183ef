package check

import (
	"strings"
	"testing"
)

// Of 10,000 B an eighth, 1,250 B, takes a frame of 1,048 B, but not in cells of 254 B, of
// which it fills five, 1,270 B; a sixteenth, 625 B, does not.
func TestNeverTaken(t *testing.T) {
	for _, c := range []struct {
		name, buffer, alpha, kind string
		found                     bool
	}{
		{"fits", "{size: 10000B}", "1/8", "lossy", false},
		{"in cells", "{size: 10000B, cell: 254B}", "1/8", "lossy", true},
		{"too little", "{size: 10000B}", "1/16", "lossy", true},
		{"of its own", "{size: 20000B, private_per_queue: 2000B}", "1/16", "lossy", false},
		{"lossless", "{size: 140000B}", "1/16", "lossless", false}, // which is paused, not dropped
	} {
		text := strings.NewReplacer("{size: 1000000B}", c.buffer, "alpha: 1/4", "alpha: 1/4, alpha_lossy: "+c.alpha, "kind: lossless", "kind: "+c.kind).Replace(oneSwitch) +
			"run: {stop: {at_most: 10ms}}\n"
		if c.kind == "lossy" {
			text = strings.NewReplacer("{name: pfc, headroom: 30000B}", "{name: none}", "cc: {name: dcqcn}", "reliability: {name: sack}").Replace(text)
		}
		var found []Finding
		for _, f := range about(read(t, text, Options{}), OfBuffer) {
			if strings.Contains(f.What, "is not taken by an empty queue of lossy class 3") {
				found = append(found, f)
			}
		}
		if (len(found) == 1) != c.found || len(found) > 1 || c.found && (found[0].Level != Problem || len(found[0].Where) != 4) {
			t.Errorf("%s: %+v", c.name, found)
		}
		// A run agrees.
		_, fast := played(t, text)
		if done := fast.Totals().Finished; (done == 0) != c.found {
			t.Errorf("%s: %d flows end in a run", c.name, done)
		}
	}
}
