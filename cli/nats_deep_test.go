//go:build deep

package cli

import (
	"testing"
	"time"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

// hundreds are the flags of a sweep of 200 points.
var hundreds = []string{"--vary", "switch.policy.alpha=1/16,1/8,1/4,1/2", "--seeds", "50", "--set", "run.arrivals=300us", "--set", "run.measure={from: 0us, to: 300us}"}

func TestDeepWorkersAndHubAreKilled(t *testing.T) {
	deep.Turn(t)
	killWorkers(t, killing{args: hundreds, hub: true, every: 3 * time.Second, points: 100})
}

func TestDeepWorkersAndSweepAreKilled(t *testing.T) {
	deep.Turn(t)
	killWorkers(t, killing{args: hundreds, every: 3 * time.Second, points: 100})
}
