package fabric

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/workload"
)

// build builds a scenario and adds a flow if it has no workload.
func build(t *testing.T, text string, set ...string) *Fabric {
	t.Helper()
	if !strings.Contains(text, "workload:") {
		text += "workload: [{name: w, generator: flows, flows: [{from: host0, to: host1, size: 1KB, start: 0}]}]\n"
	}
	b, err := New(parse(t, text, set...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every base of a load, worked out by hand. Flows have 10 KB, so that there are at least
// 20,000 and the standard deviation is at most 0.7 %.
func TestLoadBases(t *testing.T) {
	const leaves = "{name: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 8, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 400Gbps, delay: 1us}}"
	const centres = "{name: two-dc}"
	for _, c := range []struct {
		topology, keys string
		gbps           float64 // expected load, for a share of 0.5
	}{
		{leaves, "load: {share: 0.5, of: host_links}", 1600},                                    // 32 x 100
		{leaves, "load: {share: 0.5, of: host_links}, from: [leaf0, leaf1]", 800},               // 16 x 100
		{leaves, "load: {share: 0.5, of: all_host_links}, from: [leaf0, leaf1]", 1600},          // all hosts, despite from
		{leaves, "load: {share: 0.5, of: receiver_links}, to: rack3, pairs: other_rack", 400},   // 8 x 100
		{leaves, "load: {share: 0.5, of: uplinks}, pairs: next_rack", 1600},                     // 4 x 2 x 400
		{leaves, "load: {share: 0.5, of: uplinks}, pairs: next_rack, from: [leaf0]", 400},       // 2 x 400
		{leaves, "load: {share: 0.5, of: 'leaf[01]-spine1'}, pairs: other_rack", 400},           // 2 x 400
		{centres, "load: {share: 0.5, of: dci0-dci1}, from: dc0, to: dc1", 200},                 // the long haul: 400
		{centres, "load: {share: 0.5, of: host_links}, from: dc0, pairs: same_group", 800},      // 16 x 100
		{leaves, "load: {share: 0.5, of: host_links}, start: 2ms, stop: 6ms, from: leaf0", 400}, // from start to stop
	} {
		perSecond := c.gbps * 1e9 / 8
		us := 40_000 * 10_000 * 1e6 / perSecond
		stop, span := fmt.Sprintf("%.0fus", us), us/1e6
		if bytes.Contains([]byte(c.keys), []byte("stop:")) {
			stop, span = "8ms", 0.004
		}
		b := build(t, fmt.Sprintf("topology: %s\nhosts: {reliability: {timeout: 20ms, max_timeout: 40ms}}\nswitch: {flow_control: {headroom: 10KB}}\nworkload:\n  - {name: w, generator: poisson, sizes: 10KB, %s}\nrun: {arrivals: %s, stop: {at_most: 1s}}\n", c.topology, c.keys, stop))
		sum := 0.0
		for _, f := range b.Flows.Flow {
			sum += float64(f.Size)
		}
		if got := sum / span / perSecond; math.Abs(got-1) > 0.02 {
			t.Errorf("%s: offers %.4f of the expected load, %d flows", c.keys, got, len(b.Flows.Flow))
		}
	}
}

// Pairs follow the topology: between or within data centres, from each rack to the next.
func TestWorkloadPairs(t *testing.T) {
	b := build(t, `
topology: {name: two-dc}
hosts: {reliability: {timeout: 20ms, max_timeout: 40ms}}
switch: {flow_control: {headroom: 10KB}}
workload:
  - {name: across, generator: poisson, sizes: 10KB, load: {share: 0.5, of: dci0-dci1}, pairs: other_group}
  - {name: within, generator: poisson, sizes: 10KB, load: {share: 0.1, of: host_links}, pairs: same_group, class: {shares: {1: 0.28, 2: 0.32, 3: 0.40}}}
  - {name: next, generator: poisson, sizes: 10KB, load: {share: 0.1, of: uplinks}, pairs: next_rack}
  - {name: pair, generator: messages, size: 10KB, count: 3, pairs: matched, from: dc0, to: dc1}
`)
	dc := func(h uint32) int { return int(h) / 16 }
	var classes [8]int
	within := 0
	for i, f := range b.Flows.Flow {
		ok := true
		switch b.Workloads[b.Origin[i]] {
		case "across":
			ok = dc(f.Src) != dc(f.Dst)
		case "within":
			ok = dc(f.Src) == dc(f.Dst)
			classes[f.Class]++
			within++
		case "next":
			ok = (b.Graph.Rack[f.Src]+1)%16 == b.Graph.Rack[f.Dst]
		case "pair":
			ok = f.Dst == f.Src+16
		}
		if !ok {
			t.Fatalf("%s: host%d to host%d", b.Workloads[b.Origin[i]], f.Src, f.Dst)
		}
	}
	for id, share := range map[int]float64{1: 0.28, 2: 0.32, 3: 0.4} {
		if got := float64(classes[id]) / float64(within); math.Abs(got-share) > 4*math.Sqrt(share*(1-share)/float64(within)) {
			t.Errorf("class %d has a share of %.3f of %d flows, want %v", id, got, within, share)
		}
	}
}

// Adding a workload does not change the others: neither their flows nor their paths.
func TestWorkloadsIndependent(t *testing.T) {
	of := func(b *Fabric, name string) []dataplane.Flow {
		var list []dataplane.Flow
		for i, f := range b.Flows.Flow {
			if b.Workloads[b.Origin[i]] == name {
				list = append(list, f)
			}
		}
		return list
	}
	const a = "\n  - {name: a, generator: poisson, sizes: 20KB, load: {share: 0.5, of: host_links}, class: {random: rdma}}"
	const more = "\n  - {name: b, generator: incast, senders: 3, size: 10KB, load: {share: 0.5, of: host_links}, class: {random: rdma}}\n  - {name: ring, generator: ring_allreduce, size: 1MB}"
	alone, first, last := build(t, "workload:"+a), build(t, "workload:"+a+more), build(t, "workload:"+more+a)
	if want := of(alone, "a"); len(want) < 100 || !reflect.DeepEqual(of(first, "a"), want) || !reflect.DeepEqual(of(last, "a"), want) {
		t.Error("the flows of a depend on other workloads")
	}
	if want := of(first, "b"); len(want) < 100 || !reflect.DeepEqual(of(last, "b"), want) {
		t.Error("the flows of b depend on the order of workloads")
	}
}

// everyGenerator has a workload of every generator except trace, which needs a file.
const everyGenerator = `
workload:
  - {name: a, generator: poisson, sizes: 10KB, at_once: 8, load: {share: 0.1, of: host_links}, class: {shares: {2: 0.25, 1: 0.75}}, from: [rack0, host7], to: all, start: 10us, stop: 20us}
  - {name: b, generator: incast, senders: 3, flows: 9, size: 1KB, at: 5us, to: host3}
  - {name: c, generator: query_response, size: 1MB, rate: 100, request: 64B, think: 1us}
  - {name: d, generator: request, size: 1MB, servers: 5, count: 3}
  - {name: e, generator: sequential, sizes: cache, gap: 1us, count: 2}
  - {name: f, generator: messages, size: 64KB, depth: 4, streams: 2, count: 3, pairs: matched, from: rack0, to: rack1}
  - {name: g, generator: long_lived, streams: 2, from: host0}
  - {name: h, generator: flows, flows: [{from: host0, to: host1, size: 1KB, start: 1us}, {from: host1, to: host0, size: 1KB, after: [0], delay: 1us, class: 3}]}
  - {name: i, generator: ring_allreduce, size: 1MB, ranks: 4, order: across_racks, repeat: 2, gap: 1us}
  - {name: j, generator: halving_doubling, size: 1MB}
  - {name: k, generator: all_to_all, size: 1MB, parallel: 3}
`

// Every generator keeps its parameters when a scenario is written and read.
func TestMarshalWorkloads(t *testing.T) {
	c := parse(t, everyGenerator)
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back := parse(t, string(text))
	if !reflect.DeepEqual(back.Workload, c.Workload) {
		t.Errorf("got %+v\nwant %+v\nin %s", back.Workload, c.Workload, text)
	}
	set := parse(t, string(text), "workload[1].size=2KB", "workload[0].class={random: rdma}", "workload[7].flows[1].delay=2us", "workload[8].generator=all_to_all", "workload[8].size=3MB")
	if set.Workload[1].Params.(*workload.Incast).Size != 2*units.KB || set.Workload[0].Class.Random != "rdma" ||
		set.Workload[7].Params.(*workload.List).Flows[1].Delay != 2*units.Microsecond || set.Workload[8].Params.(*workload.AllToAll).Size != 3*units.MB {
		t.Errorf("got %+v", set.Workload)
	}
}

// A trace replays the same flows, dependencies and workload names, including workloads
// without flows.
func TestReplay(t *testing.T) {
	b := build(t, `
workload:
  - {name: a, generator: poisson, sizes: fb_hadoop, load: {share: 0.2, of: host_links}, class: {random: rdma}}
  - {name: none, generator: poisson, sizes: 100MB, load: {share: 0.000001, of: host_links}}
  - {name: b, generator: all_to_all, size: 1MB, repeat: 2}
  - {name: c, generator: sequential, sizes: 10KB, stop: 100us}
  - {name: d, generator: incast, senders: 4, size: 10KB, load: {share: 0.1, of: host_links}}
`)
	folder := t.TempDir()
	var trace bytes.Buffer
	replay, err := b.Replay()
	if err == nil {
		err = b.WriteTrace(&trace)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, TraceFile), trace.Bytes(), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "replay.yaml"), replay, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadFile(filepath.Join(folder, "replay.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"flows", back.Flows.Flow, b.Flows.Flow}, {"waits", slices.Collect(back.Flows.Dependencies()), slices.Collect(b.Flows.Dependencies())}, {"workloads", back.Workloads, b.Workloads},
		{"origins", back.Origin, b.Origin}, {"groups", back.Groups, b.Groups}, {"ideal", back.Ideal, b.Ideal},
	} {
		if !reflect.DeepEqual(check.got, check.want) {
			t.Errorf("%s differ", check.name)
		}
	}
}
