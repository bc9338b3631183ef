package fabric_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
)

// fromCM writes a traffic file and returns a scenario that runs it on eight hosts.
func fromCM(t testing.TB, text string) *scenario.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.cm")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return jobScenario(t, plainFabric+"workload: [{name: a, generator: htsim, path: "+path+", start: 1us}]")
}

// Connections start at their time or with the events of their triggers. Where the source of a
// connection sees the event, it starts at the very time; elsewhere a message of one byte tells it.
func TestHTSimTriggers(t *testing.T) {
	c := fromCM(t, `Nodes 6
Connections 8
Triggers 5
0->1 id 1 start 2000000 size 20000 send_done_trigger 1 recv_done_trigger 2
0->2 id 2 trigger 1 size 5000
1->3 id 3 trigger 2 size 5000 recv_done_trigger 3
2->4 id 4 start 0 size 90000 send_done_trigger 3
3->5 id 5 trigger 3 size 1000
5->3 id 6 trigger 3 size 1000 recv_done_trigger 4
4->0 id 7 trigger 4 size 3000 send_done_trigger 5
4->1 id 8 trigger 5 size 3000
trigger id 1 oneshot
trigger id 2 oneshot
trigger id 3 barrier count 2
trigger id 4 oneshot
trigger id 5 multishot
`)
	f := simulate(t, c, 1, 1)
	type ends struct{ start, delivered, acked units.Time }
	at := make(map[string]ends)
	var told []string
	for i := range f.Flows.Flow {
		w := &f.Flows.Flow[i]
		began, _ := f.Flows.Began(i)
		name := fmt.Sprintf("%d-%d %d", w.Src, w.Dst, w.Size)
		if w.Size == 1 {
			told = append(told, name)
		}
		// The ACK of 64 B passes two links of 500 ns in a leaf, four between leaves.
		links := units.Time(2)
		if w.Src/4 != w.Dst/4 {
			links = 4
		}
		acked := f.Flows.Send[i].Acked
		at[name] = ends{began, acked - links*(500*units.Nanosecond+5120), acked}
	}
	for _, c := range []struct {
		what      string
		got, want units.Time
	}{
		{"start 2 us after start: 1us", at["0-1 20000"].start, 3 * units.Microsecond},
		{"start 0", at["2-4 90000"].start, units.Microsecond},
		{"send done, at its source", at["0-2 5000"].start, at["0-1 20000"].acked},
		{"receive done, at its destination", at["1-3 5000"].start, at["0-1 20000"].delivered},
		{"message about the barrier's second event", at["2-3 1"].start, at["2-4 90000"].acked},
		{"barrier, where it is gathered", at["3-5 1000"].start, max(at["1-3 5000"].delivered, at["2-3 1"].delivered)},
		{"message about the barrier", at["3-5 1"].start, at["3-5 1000"].start},
		{"barrier, elsewhere", at["5-3 1000"].start, at["3-5 1"].delivered},
		{"message about a receive", at["3-4 1"].start, at["5-3 1000"].delivered},
		{"receive done elsewhere", at["4-0 3000"].start, at["3-4 1"].delivered},
		{"multishot", at["4-1 3000"].start, at["4-0 3000"].acked},
	} {
		if c.got == 0 || c.got > c.want || c.got < c.want-2*units.Nanosecond { // an ACK may wait for a frame

			t.Errorf("%s: %s (expected %s)", c.what, c.got, c.want)
		}
	}
	if len(told) != 3 {
		t.Errorf("messages %v (expected 3)", told)
	}
	if want := flowTimes(f); !reflect.DeepEqual(flowTimes(simulate(t, c, 0, 0)), want) || !reflect.DeepEqual(flowTimes(simulate(t, c, 3, 2)), want) {
		t.Error("engines or workers differ")
	}
}

func TestHTSimErrors(t *testing.T) {
	for text, want := range map[string]string{
		"Nodes 9\nConnections 1\n0->1 start 0 size 5":            "a.cm: 9 nodes (expected at most 8, the hosts of from)",
		"Nodes 8\nConnections 0\n":                               "a.cm: no connections",
		"Nodes 8\nConnections 1\n0->1 start 999999000000 size 5": "a.cm:3: start 999999000000 ps is at or after the last arrival",
		"Nodes 8\nConnections 2\n0->1 start 0 size 5":            "a.cm:3:1: 1 connections (expected 2, as in the header)",
		"Nodes 8\nConnections 1\nFailures 1\n0->1 start 0 size 5\nfailure switch_type TOR switch_id 1 link_id 0": "a.cm:5: failed uplink 0 of TOR 1: a workload cannot remove links (expected no failures); fix: name the links in topology.down",
	} {
		_, err := fabric.New(fromCM(t, text), fabric.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// tiers is a fat tree of three tiers: two pods with two ToR and two aggregation switches, with
// two cables to each of two cores per position.
const tiers = `Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 50
Switch_Latency_ns 300
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 200
Switch_Latency_ns 300
Oversubscribed 1
Tier 2
Downlink_speed_Gbps 50
Radix_Down 4
Bundle 2
Downlink_Latency_ns 1000
Switch_Latency_ns 300
`

// fromTopo writes a topology file and parses a scenario with it.
func fromTopo(t testing.TB, text, more string) (*scenario.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.topo")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return scenario.Parse("a.yaml", []byte("topology: {name: custom, path: "+path+"}\nworkload: [{name: a, generator: all_to_all, size: 7KB}]\n"+
		"run: {stop: {when: all_flows_done, at_most: 10ms}}\n"+more))
}

// A .topo file becomes a custom topology with all its links, which runs, is written with the
// results, and is the same fabric when it is read again.
func TestHTSimTopology(t *testing.T) {
	c, err := fromTopo(t, tiers, "")
	if err != nil {
		t.Fatal(err)
	}
	f := simulate(t, c, 1, 1)
	if n := f.Flows; len(n.Flow) != 56 || !n.Done(55) {
		t.Errorf("%d flows, or the last is not done", len(n.Flow))
	}
	var links []string
	for i, l := range f.Graph.Links {
		links = append(links, fmt.Sprintf("%s %s %s", f.Graph.LinkName(i), l.Rate, l.Delay))
	}
	text := strings.Join(links, "\n")
	for link, times := range map[string]int{
		"host0-tor0 100Gbps 50ns": 1, "host7-tor3 100Gbps 50ns": 1, "tor1-agg0 100Gbps 200ns": 1, "tor1-agg1 100Gbps 200ns": 1, "tor2-agg3 100Gbps 200ns": 1,
		"tor1-agg2": 0, "agg0-core0#": 2, "agg0-core1#": 2, "agg1-core2#": 2, "agg2-core0#": 2, "agg2-core2#": 0, "agg3-core3#": 2,
	} {
		if n := strings.Count(text, link); n != times {
			t.Errorf("%s occurs %d times (expected %d) in\n%s", link, n, times, text)
		}
	}
	if !strings.HasSuffix(text, "agg3-core3#1 50Gbps 1us") {
		t.Errorf("the last cable is %s", links[len(links)-1])
	}
	if len(links) != 8+8+16 || c.Switch.Latency != 300*units.Nanosecond {
		t.Errorf("%d links, latency %s (expected 32, 300ns)", len(links), c.Switch.Latency)
	}
	again, _, err := c.Standalone()
	if err != nil {
		t.Fatal(err)
	}
	c2, err := scenario.ParseSandboxed("again.yaml", again, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(flowTimes(simulate(t, c2, 1, 1)), flowTimes(f)) {
		t.Error("the resolved scenario has other flow times")
	}
	if c, err := fromTopo(t, strings.Replace(tiers, "Latency_ns 300", "Latency_ns 100", 1), "switch: {latency: 5ns}"); err != nil || c.Switch.Latency != 5*units.Nanosecond {
		t.Errorf("switch.latency of the scenario: %v", err)
	}
	big := strings.NewReplacer("Nodes 8", "Nodes 1048576", "Podsize 4", "Podsize 1048576", "Radix_Down 4", "Radix_Down 1048576").Replace(tiers)
	for text, want := range map[string]string{
		strings.Replace(tiers, "Latency_ns 300", "Latency_ns 100", 1): "a.topo:10:1: tier 1 has Switch_Latency_ns 300, tier 0 has 100 (expected one value); fix: set switch.latency",
		strings.Replace(tiers, "Latency_ns 50", "Latency_ns 0", 1):    "a.topo:4:1: tier 0.delay is 0s",
		strings.Replace(tiers, "Nodes 8", "Nodes 9", 1):               "9 nodes (expected a multiple of Podsize, 4)",
		"Nodes 1":       "a.topo:1:1: no Tiers in the header",
		big:             "a.topo",
		"hosts: [a, b]": "a.topo:1:1: unexpected \"hosts:\"",
	} {
		if _, err := fromTopo(t, text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// Every sample of htsim runs: traffic on the topology with its number of nodes.
func runHTSimSamples(t *testing.T, atMost string, whole bool) {
	folder := filepath.Join("..", "..", "shared", "ai", "samples", "htsim")
	traffic, _ := filepath.Glob(filepath.Join(folder, "*.[ct]m"))
	topologies, _ := filepath.Glob(filepath.Join(folder, "*.topo"))
	if len(traffic) == 0 {
		t.Skipf("no samples of other programs in %s", folder)
	}
	run := func(topology, workload string) {
		t.Helper()
		c := jobScenario(t, "name: sample\ntopology: {name: custom, path: "+topology+"}\nworkload: [{name: a, "+workload+"}]\n"+
			"hosts: {cc: {name: dcqcn}}\nrun: {arrivals: 100us, stop: {when: all_flows_done, at_most: "+atMost+"}}\n")
		f := simulate(t, c, 1, 1)
		for i := range f.Flows.Flow {
			if whole && !f.Flows.Done(i) {
				t.Errorf("%s: flow %d of %d is not done", workload, i, len(f.Flows.Flow))
				return
			}
		}
	}
	for _, path := range topologies {
		run(path, "generator: incast, size: 20KB, senders: 8")
	}
	for _, path := range traffic {
		run(filepath.Join(folder, "fat_tree_128_1os.topo"), "generator: htsim, path: "+path)
	}
}

func TestHTSimSamples(t *testing.T) { runHTSimSamples(t, "100us", false) }

// Every sample of GOAL runs to its end.
func TestGOALSamples(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "shared", "ai", "samples", "goal", "own-mini.*"))
	more, _ := filepath.Glob(filepath.Join("..", "..", "shared", "ai", "samples", "goal", "htsim-*.goal"))
	if files = append(files, more...); len(files) == 0 {
		t.Skip("no samples of other programs")
	}
	for _, path := range files {
		f := simulate(t, jobScenario(t, "name: sample\ntopology: {name: one-switch, hosts: 16, host_link: {rate: 400Gbps, delay: 500ns}}\n"+
			"workload: [{name: a, generator: goal, path: "+path+", rendezvous: 1B}]\nrun: {stop: {when: all_flows_done, at_most: 100ms}}\n"), 1, 1)
		if !f.Jobs[0].Done() {
			t.Errorf("%s: %d operations are left", path, f.Jobs[0].Left())
		}
	}
}
