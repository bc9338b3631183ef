//go:build deep

package calibrate

import (
	"math"
	"runtime"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// TestDeepWorlds calibrates ten fabrics by their counters. In nine the load is within 10 % and the
// congested port is named first.
func TestDeepWorlds(t *testing.T) {
	good := 0
	for i := range worlds {
		x := &worlds[i]
		load, named, r := x.recovered(t, 20*units.Millisecond, Options{Runs: 60, Workers: runtime.NumCPU()})
		if math.Abs(load) <= 0.1 && named {
			good++
		}
		rep := &r.Report
		t.Logf("%s: load %+.1f %%, congested port named: %t, error %.3f, %d runs, explained %d of %d ports",
			x.name, 100*load, named, rep.Fit.Error, rep.Runs, rep.Explained, len(rep.Ports))
		t.Log(rep.Sentence())
	}
	if good < 9 {
		t.Errorf("%d of 10 fabrics are recovered, want 9", good)
	}
}
