package run_test

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/run"
)

const fourByTwo = `
name: ranks
topology: {name: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 2, host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}
hosts: {cc: {name: none}}
`

// A ring all-reduce of eight ranks has 2 x 7 x 8 = 112 flows. 8 MB takes about 13 ms at
// 10 Gbps, far longer than the measurement window of 1 ms. All flows count, with any stop
// rule, and a second operation counts with the first, which it waits for.
func TestCollectivesCountWhole(t *testing.T) {
	const ring = `{name: ring, generator: ring_allreduce, size: 8MB}`
	const twice = `{name: ring, generator: ring_allreduce, size: 1MB, repeat: 2}`
	const all = `{name: all, generator: all_to_all, size: 7MB, parallel: 1}`
	const noise = `{name: noise, generator: poisson, sizes: 10KB, load: {share: 0.1, of: host_links}}`
	for _, c := range []struct {
		name, workload string
		part, want     int
	}{
		{"ring", ring, 0, 112},
		{"two in sequence", twice, 0, 224},
		{"all to all with background traffic", noise + ", " + all, 1, 56},
	} {
		for _, when := range []string{"", "stop: {when: all_flows_done, at_most: 1s}", "stop: {when: measured_flows_done, at_most: 1s}"} {
			t.Run(c.name+" "+when, func(t *testing.T) {
				done := mustRun(t, fourByTwo+"workload: ["+c.workload+"]\nrun: {arrivals: 1ms, "+when+"}\n", run.Options{})
				if p := done.Summary.Workloads[c.part]; p.Measured != c.want || p.Finished != c.want {
					t.Errorf("%d flows measured, %d finished; want %d", p.Measured, p.Finished, c.want)
				}
				if done.Verdict.Code != run.Fine {
					t.Errorf("verdict %+v", done.Verdict)
				}
			})
		}
	}
}

// A run that ends too early fails with exit code 1 and measures no flow that never
// started. A requested end is not a failure.
func TestUnfinishedWork(t *testing.T) {
	const ring = "workload: [{name: ring, generator: ring_allreduce, size: 8MB}]\n"
	const endless = "workload: [{name: long, generator: long_lived, streams: 1, from: rack0, pairs: other_rack}]\n"
	for _, c := range []struct {
		name, text string
		code       int
		message    string
	}{
		{"cut", ring + "run: {arrivals: 1ms, stop: {when: measured_flows_done, at_most: 5ms}}", run.Failure, "had not started"},
		{"time", ring + "run: {arrivals: 1ms, stop: {when: time, at_most: 5ms}}", run.Fine, ""},
		{"long lived", endless + "run: {arrivals: 1ms, stop: {at_most: 5ms}}", run.Fine, ""},
		{"one flow", "workload: [{name: one, generator: flows, flows: [{from: host0, to: host7, size: 5MB}, {from: host1, to: host7, size: 5MB}]}]\nrun: {arrivals: 1ms, stop: {at_most: 5ms}}",
			run.Failure, "with 2 unfinished flows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := mustRun(t, fourByTwo+c.text, run.Options{})
			if v := done.Verdict; v.Code != c.code || !strings.Contains(v.Message, c.message) {
				t.Errorf("verdict %+v", v)
			}
			s := done.Summary.Flows
			for i := range done.Outcome.Flows.Flow {
				if at, ok := done.Outcome.Flows.Began(i); done.Outcome.Measured(i) && (!ok || at > done.Summary.End) {
					t.Errorf("flow %d is measured but never started", i)
				}
			}
			if c.name == "cut" && (s.Measured == 0 || s.Measured >= s.Offered || s.Offered != 112) {
				t.Errorf("%d measured of %d offered", s.Measured, s.Offered)
			}
		})
	}
}
