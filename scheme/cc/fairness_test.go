package cc_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// fairness is a lower limit for a control: Jain's index of deliveries in the last third of a
// run, and the utilisation of the link. Flows start one after the other, so each must get
// its share from flows that already use the link.
type fairness struct {
	name, class, keys string
	interval, run     units.Time
	jain, used        float64
	many              float64 // Jain's index of 16 flows, if different
}

func (c *fairness) check(t *testing.T) {
	t.Helper()
	for _, n := range []int{2, 16} {
		b := newSetup(c.class, c.keys, n, c.interval).build(t)
		jain, used := b.share(2*c.run/3, c.run)
		want := c.jain
		if n == 16 && c.many != 0 {
			want = c.many
		}
		if !(jain > want) {
			t.Errorf("%s, %d flows: Jain's index is %.4f, want more than %v", c.name, n, jain, want)
		}
		if !(used > c.used) {
			t.Errorf("%s, %d flows: %.3f of the link is used, want more than %v", c.name, n, used, c.used)
		}
		b.checkInvariants()
	}
}

// Every congestion control shares a bottleneck fairly among 2 and 16 flows: Jain's index is
// over 0.95 in the last third of a run. The length of the run depends on the control. Round
// trips are 21 us, but DCQCN raises its rate every 55 us (900 us in the public simulators,
// see the deep tests), TIMELY by 50 Mbps per round trip, and PowerTCP by 150 Mbps.
func TestFairShares(t *testing.T) {
	const ms = units.Millisecond
	red := "{name: red, kmin: 50KB, kmax: 400KB, pmax: 0.05}"
	for _, c := range []fairness{
		{"dcqcn", "rdma", rdmaKeys("{name: dcqcn, preset: paper}"), ms, 60 * ms, 0.95, 0.85, 0},
		{"hpcc", "rdma", rdmaKeys("{name: hpcc}"), ms / 10, 12 * ms, 0.95, 0.8, 0},
		{"powertcp", "rdma", rdmaKeys("{name: powertcp}"), ms / 10, 30 * ms, 0.95, 0.8, 0},
		{"theta-powertcp", "rdma", rdmaKeys("{name: theta-powertcp}"), ms / 10, 12 * ms, 0.95, 0.8, 0},
		{"timely", "rdma", rdmaKeys("{name: timely}"), ms, 100 * ms, 0.95, 0.65, 0},
		{"dctcp", "tcp", tcpKeys("{name: dctcp}", "{name: step, k: 65KB}"), ms, 60 * ms, 0.95, 0.94, 0},
		{"cubic", "tcp", tcpKeys("{name: cubic}", red), ms, 60 * ms, 0.95, 0.94, 0},
		{"newreno", "tcp", tcpKeys("{name: newreno}", red), ms, 60 * ms, 0.95, 0.94, 0},
	} {
		t.Run(c.name, c.check)
	}
}

// The check detects unfairness: fixed rates are shared unevenly.
func TestFairSharesWouldFail(t *testing.T) {
	b := newSetup("rdma", "hosts:\n  cc: {name: fixed, rate: 2Gbps}\n  overrides: [{match: host0, cc: {name: fixed, rate: 8Gbps}}]\n", 2, 0)
	// 8 and 2: 10^2 / (2 (64 + 4)) = 0.735.
	if jain, _ := b.build(t).share(units.Millisecond, 2*units.Millisecond); jain > 0.75 || jain < 0.72 {
		t.Errorf("Jain's index of 8 and 2 Gbps is %.4f, want 0.735", jain)
	}
}
