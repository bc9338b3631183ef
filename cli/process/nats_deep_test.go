//go:build deep

package process

import "testing"

// points40 are the flags of a sweep of 40 points.
var points40 = []string{"--vary", "switch.policy.alpha=1/16,1/8,1/4,1/2", "--seeds", "10", "--set", "run.arrivals=60us", "--set", "run.measure={from: 0us, to: 60us}"}

func TestDeepWorkersAndHubAreKilled(t *testing.T) {
	killWorkers(t, killing{args: points40, workers: 6, points: 20, hub: true})
}

func TestDeepWorkersAndSweepAreKilled(t *testing.T) {
	killWorkers(t, killing{args: points40, workers: 6, points: 20})
}
