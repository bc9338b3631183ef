package cli

import (
	"fmt"
	"time"

	"github.com/xoff-net/xoff/base/units"

	"github.com/xoff-net/xoff/internal/sweep"
)

// progressLine tells how far a run is.
func progressLine(now units.Time, share float64, hops uint64, passed time.Duration) string {
	return fmt.Sprintf("%s simulated, %.0f %%", human(now), share*100) + speed(hops, passed) + timeLeft(share, passed)
}

// sweepLine tells how far a sweep is.
func sweepLine(p sweep.Progress, passed time.Duration) string {
	if p.Preparing {
		return fmt.Sprintf("%d of %d points are prepared", p.Done, p.Total) + timeLeft(float64(p.Done)/float64(p.Total), passed)
	}
	line := fmt.Sprintf("%d of %d points", p.Done, p.Total)
	if p.Reused > 0 {
		line += fmt.Sprintf(" (%d from before)", p.Reused)
	}
	return line + speed(p.Hops, passed) + timeLeft(p.Share, passed)
}
