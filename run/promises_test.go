package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// overflowing is an incast that overflows any headroom that is too small. Tests set the
// buffer, the other keys of the switch and the expectations.
const overflowing = `
name: overflowing
topology: {name: one-switch, hosts: 9, host_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
switch: {buffer: {size: 200KB, private_per_queue: 0B, %s}, %s}
hosts: {cc: {name: none}}
workload: [{name: burst, generator: incast, senders: 8, size: 200KB, at: 0s, to: host0, class: rdma}]
run: {arrivals: 1us, stop: {when: measured_flows_done, at_most: 20ms}}
expect: [%s]
`

// Lossless drops of a configuration that is meant to be lossless have exit code 3, unless an
// expectation about them holds. Schemes that drop by design have exit code 0.
func TestVerdictOnLosslessDrops(t *testing.T) {
	const (
		tight  = "flow_control: {name: pfc, headroom: 1KB}"
		pooled = "policy: {name: chip, alpha: 1}, flow_control: {name: sonic, headroom: 50KB}"
	)
	for _, c := range []struct {
		name, buffer, keys, expect string
		code                       int
		says                       string
	}{
		{"too little headroom", "", tight, "", run.Broken, "flow control pfc promises none"},
		{"exhausted headroom pool", "headroom_pool: 20KB", pooled, "", run.Broken, "flow control sonic promises none"},
		{"egress pool that is too small", "headroom_pool: 100KB",
			"policy: {name: chip, alpha: 1, egress_lossless: 20KB}, flow_control: {name: sonic, headroom: 50KB}", "", run.Broken, "promises none"},
		{"one port without a promise", "", tight + ", overrides: [{match: switch0.port8, flow_control: {name: none}}]", "", run.Broken, "flow control pfc promises none"},
		{"allowed", "", tight, "drops.lossless < 1000000", run.Fine, ""},
		{"broken promises allowed", "headroom_pool: 20KB", pooled, "drops.lossless_broken > 0", run.Fine, ""},
		{"allowed, with a broken expectation", "", tight, "drops.lossless > 0, drops.link > 0", run.Failure, "expected drops.link > 0"},
		{"more than allowed", "", tight, "drops.lossless < 10", run.Broken, "expected drops.lossless < 10"},
		{"another expectation", "", tight, "drops.link == 0", run.Broken, "promises none"},
		{"none", "", "flow_control: {name: none}", "", run.Fine, ""},
		{"oversubscribed", "", "flow_control: {name: oversubscribed, ratio: 1/20}", "", run.Fine, ""},
		{"DSH without insurance", "", "flow_control: {name: dsh, insurance: 0}", "", run.Fine, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := mustRun(t, fmt.Sprintf(overflowing, c.buffer, c.keys, c.expect), run.Options{Invariants: run.Off})
			if done.Summary.Drops.Lossless == 0 || done.Verdict.Code != c.code || !strings.Contains(done.Verdict.Message, c.says) {
				t.Errorf("%+v: %+v", done.Summary.Drops, done.Verdict)
			}
		})
	}
}

// An expectation that allows the drops of a run leaves its other problems: here, unfinished
// flows.
func TestAllowedDropsLeaveUnfinishedFlows(t *testing.T) {
	text := strings.Replace(overflowing, "at_most: 20ms", "at_most: 20us", 1)
	text = fmt.Sprintf(text, "", "flow_control: {name: pfc, headroom: 1KB}", "drops.lossless > 0")
	v := mustRun(t, text, run.Options{Invariants: run.Off}).Verdict
	if v.Code != run.Failure || v.Unfinished != 8 || !strings.Contains(v.Message, "unfinished flows") {
		t.Errorf("%+v", v)
	}
}

// A handler excuses no drop that it does not make itself: with too little headroom all
// lossless drops break the promise, and a pause too short to be refreshed is refused.
func TestHandlersExcuseNoDrops(t *testing.T) {
	for _, handler := range []string{
		"{name: none}", "{name: watchdog}", "{name: watchdog, action: forward}", "{name: watchdog, action: alert}", "{name: loop-breaker}",
		"{name: deadlock-breaker}", "{name: itsy}", "{name: itsy, resolve: buffer}", "{name: itsy, resolve: nothing}", "{name: roundabout}",
	} {
		text := fmt.Sprintf(overflowing, "", "pfc: {coalesce: false}, flow_control: {name: pfc, headroom: 1KB}, deadlock: "+handler, "")
		done := mustRun(t, text, run.Options{Invariants: run.Count})
		d := done.Summary.Drops
		if d.Lossless == 0 || d.Broken != d.Lossless || done.Summary.Invariants.Broken != d.Lossless || done.Verdict.Code != run.Broken {
			t.Errorf("%s: %+v, %+v, %+v", handler, d, done.Summary.Invariants, done.Verdict)
		}
		text = fmt.Sprintf(overflowing, "", "pfc: {coalesce: false, quanta: 10}, deadlock: "+handler, "")
		cfg, err := scenario.Parse("short.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = run.Scenario(context.Background(), cfg, run.Options{}); err == nil || !strings.Contains(err.Error(), "switch.pfc.quanta: 10 quanta") {
			t.Errorf("%s: a pause of 10 quanta: %v", handler, err)
		}
	}
}

// Frames that a handler drops itself break no promise.
func TestHandlerDropsBreakNoPromise(t *testing.T) {
	keys := "policy: {name: static, limit: 10KB}, deadlock: {name: watchdog, polling: 100us, detection: 200us, restoration: 200us}"
	text := fmt.Sprintf(strings.Replace(overflowing, "size: 200KB, private", "size: 1MB, private", 1), "", keys, "")
	done := mustRun(t, text+"faults: [{at: 0s, host: host0, stuck: true, for: 1ms}]\n", run.Options{})
	if d := done.Summary.Drops; d.Handler == 0 || d.Lossless != 0 || done.Verdict.Code != run.Fine {
		t.Errorf("%+v: %+v", d, done.Verdict)
	}
}
