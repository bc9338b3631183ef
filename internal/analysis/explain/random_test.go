package explain_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/internal/render/runreport"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scheme/cc"
)

// randomScenario returns a small overloaded fabric with pauses and losses. The scenarios cover
// every congestion control and reliability scheme, slow and stuck hosts, and link faults.
func randomScenario(index int) string {
	r := rand.New(rand.NewPCG(29, uint64(index)))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	controls := cc.Algorithms.Names()
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	add("name: random\nseed: %d", index)
	add("topology: {name: leaf-spine, leaves: %d, spines: %d, hosts_per_leaf: %d, host_link: {rate: %s, delay: %s}, fabric_link: {rate: %s, delay: %s}}",
		2+r.IntN(2), 1+r.IntN(2), 2+r.IntN(3), pick("100Gbps", "25Gbps", "33Gbps"), pick("1us", "300ns"), pick("100Gbps", "40Gbps"), pick("1us", "5us"))
	lossless := index%3 != 2
	kind := "lossless"
	if !lossless {
		kind = "lossy"
	}
	add("classes: {control: {ids: [0], kind: control}, data: {ids: [3, 4], kind: %s}}", kind)
	flow := pick("{name: pfc, headroom: exact}", "{name: pfc, headroom: exact}", "{name: dsh}", "{name: cbfc}", "{name: pfc, headroom: 2000B}")
	if !lossless {
		flow = "{name: pfc, headroom: exact}"
	}
	size := pick("3MiB", "4MiB")
	if strings.Contains(flow, "cbfc") {
		size = "10MiB" // cbfc reserves more
	}
	add("switch: {buffer: {size: %s}, policy: {name: dt, alpha: 1/16}, flow_control: %s, wire_overhead: %s, latency: %s, ecn: {name: %s}}",
		size, flow, pick("0B", "24B"), pick("0s", "400ns"), pick("red", "step", "none"))
	recovery := pick("go-back-n", "sack", "irn")
	control := controls[index%len(controls)]
	add("hosts:\n  cc: {name: %s}\n  reliability: {name: %s, timeout: 300us, max_timeout: 2ms, min_rto: 200us}", control, recovery)
	add("  ack: {every: %s, class: %s}\n  cnp: {mode: %s}", pick("1", "1", "4"), pick("control", "same"), pick("interval", "ack"))
	if r.IntN(4) == 0 {
		add("  receive: {rate: 20Gbps, buffer: 600KB, xoff: 40KB, hosts: [host0, host2]}")
	}
	switch r.IntN(4) {
	case 0:
		add("faults: [{at: 60us, link: leaf0-spine0, corrupt: 0.01}]")
	case 1:
		add("faults: [{at: 50us, link: leaf1-spine0, down_for: 60us}]")
	case 2:
		add("faults: [{at: 40us, host: host1, stuck: true, for: 150us}]")
	}
	if r.IntN(5) == 0 {
		add("compat: {tick: 1ns, nic: scan, every_end: true, ties: insertion}")
	}
	add("workload:\n  - {name: burst, generator: incast, senders: 3, size: %s, to: host0, at: 10us}", pick("300KB", "120KB", "1500B"))
	add("  - {name: noise, generator: poisson, sizes: %s, load: {share: 0.4, of: host_links}, class: {random: data}}", pick("20KB", "3KB", "100KB"))
	add("run: {arrivals: 150us, stop: {when: all_flows_done, at_most: 5ms}}")
	return b.String()
}

// The steps of a flow follow each other without gaps from its start to its last ACK, so they
// add up to its FCT exactly. If it did not finish, they reach the end of the run.
func TestPartsAddUp(t *testing.T) { partsAddUp(t, trials.First(12)) }

func partsAddUp(t *testing.T, cases []int) {
	t.Helper()
	seen := make(map[explain.Part]int)
	finished := 0
	for _, index := range cases {
		text := randomScenario(index)
		r, done := recorded(t, text)
		if s := done.Summary; s.Invariants.Broken > 0 {
			t.Fatal(s.Invariants.First)
		}
		flows := done.Fabric.Flows
		for id := range flows.Flow {
			start, began := flows.Began(id)
			if !began || start >= done.Outcome.End {
				continue
			}
			end := done.Outcome.End
			if flows.Done(id) {
				end = flows.Send[id].Acked
				finished++
			}
			steps, err := r.Steps(id)
			if err != nil {
				t.Fatalf("case %d: %v\n%s", index, err, text)
			}
			at := start
			for _, s := range steps {
				if s.From != at || s.To <= s.From {
					t.Fatalf("case %d, flow %d: a step from %d to %d, want it to start at %d\n%s", index, id, s.From, s.To, at, text)
				}
				at = s.To
				seen[s.Part]++
			}
			if at != end {
				t.Fatalf("case %d, flow %d: parts end at %d, the flow ends at %d\n%s", index, id, at, end, text)
			}
		}
	}
	for _, p := range []explain.Part{explain.Serialisation, explain.Propagation, explain.OwnQueue, explain.Queueing, explain.Paused, explain.Unserved,
		explain.Pacing, explain.Lost, explain.Receiver, explain.Unfinished} {
		if seen[p] == 0 {
			t.Errorf("no flow has part %q: the cases are too easy", p)
		}
	}
	if finished < 500 {
		t.Errorf("%d flows finished", finished)
	}
}

// A flow that is alone spends time only on serialisation, propagation and its own queueing; the
// sum is the ideal FCT of internal/model/ideal.
func TestAlone(t *testing.T) {
	text := strings.Replace(example(t, "incast.yaml"), "workload:", "unused:", 1)
	text = text[:strings.Index(text, "unused:")] + `
workload:
  - {name: one, generator: flows, class: rdma, flows: [{from: host0, to: host15, size: 1500B, start: 5us}]}
run: {arrivals: 10us, stop: {when: all_flows_done, at_most: 1ms}}
`
	r, done := recorded(t, text, "hosts.cc.name=none")
	steps, err := r.Steps(0)
	if err != nil {
		t.Fatal(err)
	}
	sums := make(map[explain.Part]units.Time)
	for _, s := range steps {
		sums[s.Part] += s.To - s.From
	}
	// Two packets, 1048 and 548 B. The source sends the first in 83,840 ps at 100 Gb/s. The
	// second takes 43,840 ps on each of two links of 100 Gb/s and 21,920 ps on two of 200 Gb/s;
	// its ACK of 64 B takes 5120 ps and 2560 ps, twice each. There are eight hops of 1 us.
	if want := units.Time(83840 + 2*43840 + 2*21920 + 2*5120 + 2*2560); sums[explain.Serialisation] != want {
		t.Errorf("serialisation took %d, want %d", sums[explain.Serialisation], want)
	}
	if want := 8 * units.Microsecond; sums[explain.Propagation] != want {
		t.Errorf("propagation took %d, want %d", sums[explain.Propagation], want)
	}
	if got, want := sums[explain.Serialisation]+sums[explain.Propagation]+sums[explain.OwnQueue], done.Fabric.Ideal[0]; got != want || len(sums) > 3 {
		t.Errorf("%d in %v; the ideal is %d", got, sums, want)
	}
}

func writeReport(to *run.Folder, s *metrics.Summary) error {
	page, err := runreport.Page(to.Aside(), s)
	if err != nil {
		return err
	}
	return to.File(run.ReportFile, "the report", func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	})
}

// Results are the same with and without a recorder, and the record does not depend on the
// number of workers.
func TestSameBytes(t *testing.T) {
	for _, index := range []int{0, 4, 5, 8} {
		text := randomScenario(index)
		bare, _ := play(t, text, run.Options{Report: writeReport})
		one, _ := play(t, text, run.Options{Watchers: []run.Watcher{watcher{explain.New()}}})
		two, _ := play(t, text, run.Options{Workers: 3, Watchers: []run.Watcher{watcher{explain.New()}}, WindowDivisor: 2})
		same(t, bare, one, "report.html")
		same(t, one, two, "")
	}
}

// Pauses and their trees agree with the engine's own (output.pause_tree).
func TestTrees(t *testing.T) { sameTrees(t, trials.First(8)) }

func sameTrees(t *testing.T, cases []int) {
	t.Helper()
	deepest, pauses := 0, 0
	flaps := "faults: [{at: 60us, link: leaf0-spine0, down_for: 3us, times: 8, every: 21us}, {at: 63us, link: leaf1-spine1, down_for: 3us, times: 8, every: 21us}]\n"
	texts := []string{racks + flaps + "workload:\n" + answers + everybody}
	for _, index := range cases {
		texts = append(texts, randomScenario(index))
	}
	for index, text := range texts {
		r, done := recorded(t, text, "output.pause_tree=true")
		want := done.Outcome.Counters.Pauses
		got := r.PauseList()
		if len(got) != len(want) {
			t.Fatalf("case %d: %d pauses, want %d", index, len(got), len(want))
		}
		for i, p := range got {
			w := &want[i]
			x := explain.PauseView{Node: done.Outcome.Nodes[w.Node], Port: w.Port, Class: w.Class, Sent: w.Sent, Ended: w.Ended, Depth: w.Depth,
				Parent: w.Parent, Root: w.Root}
			if p != x {
				t.Fatalf("case %d, pause %d: %+v, want %+v", index, i, p, x)
			}
			deepest = max(deepest, p.Depth)
		}
		pauses += len(got)
	}
	if deepest < 2 || pauses < 500 {
		t.Errorf("%d pauses, up to %d deep: the cases are too easy", pauses, deepest)
	}
}
