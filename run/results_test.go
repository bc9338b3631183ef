package run_test

import (
	"math"
	"testing"

	"github.com/xoff-net/xoff/run"
)

// One rank is stuck for 2 ms: all others wait for the step that is sent to it.
func TestStragglerIsNamed(t *testing.T) {
	done := mustRun(t, fourByTwo+`
workload: [{name: ring, generator: ring_allreduce, size: 800KB}]
faults: [{at: 0s, host: host6, stuck: true, for: 2ms}]
run: {arrivals: 1ms}
`, run.Options{})
	ops := done.Summary.Operations
	if ops == nil || ops.Measured != 1 || ops.Finished != 1 {
		t.Fatalf("%+v", ops)
	}
	// host5 sends to the stuck host6.
	if s := ops.Slowest; s.Straggler != "host5" || s.To != "host6" || s.StepTime < 2e9-1e6 || s.Steps < 2 || s.Time <= s.StepTime {
		t.Errorf("%+v", s)
	}
}

// Two endless flows share a link of 10 Gbps; 1000 of the 1048 B of each frame are payload.
func TestLongLivedFlowsHaveAResult(t *testing.T) {
	done := mustRun(t, `
name: share
topology: {name: one-switch, hosts: 3, host_link: {rate: 10Gbps, delay: 1us}}
hosts: {cc: {name: none}}
workload: [{name: long, generator: long_lived, streams: 1, from: [host0, host1], to: host2}]
run: {arrivals: 1ms, stop: {when: time, at_most: 10ms}}
`, run.Options{})
	near := func(got, want float64) bool { return math.Abs(got-want) < 0.01*want }
	const payload = 10e9 * 1000 / 1048
	got := done.Summary.Throughput
	if !near(got.Rate, payload) || !near(got.Flows.Min, payload/2) || !near(got.Flows.Max, payload/2) {
		t.Errorf("%+v %+v", got, got.Flows)
	}
	if l := done.Summary.Links[1]; !near(l.Utilisation.Max, 1) || l.Busiest != "switch0 to host2" {
		t.Errorf("%+v", l)
	}
	if done.Verdict.Code != run.Fine {
		t.Errorf("verdict %+v", done.Verdict)
	}
}
