//go:build deep

package cc_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// These take long to converge. DCQCN with the parameters of the public simulators raises its
// rate by 50 Mbps every 900 us. Cubic and NewReno run without marks, so they react to
// losses. Drop-tail queues lock out flows for a while (Floyd and Jacobson 1991), more so with
// small windows. Flows that lose a whole window wait for a timeout of three round trips.
// Sixteen flows of NewReno with windows of 18 packets reach an index of 0.7 to 0.9 only, even
// in a second; with random marks they reach 0.99 (TestFairShares).
func TestDeepFairShares(t *testing.T) {
	const ms = units.Millisecond
	for _, c := range []fairness{
		{"dcqcn", "rdma", rdmaKeys("{name: dcqcn}"), ms, 600 * ms, 0.95, 0.85, 0},
		{"timely, paper", "rdma", rdmaKeys("{name: timely, preset: paper}"), ms, 100 * ms, 0.95, 0.7, 0.9},
		{"cubic", "tcp", tcpKeys("{name: cubic}", "{name: none}"), ms, 600 * ms, 0.95, 0.9, 0},
		{"newreno", "tcp", tcpKeys("{name: newreno}", "{name: none}"), ms, 600 * ms, 0.95, 0.9, 0.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check(t)
		})
	}
}
