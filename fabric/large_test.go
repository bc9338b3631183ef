package fabric

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// largeTree returns a fat-tree of k pods in which every host sends 64 KB to the host at its
// place in the next pod.
func largeTree(t testing.TB, k int, set ...string) *scenario.Config {
	t.Helper()
	var from, to []string
	for pod := range k {
		from, to = append(from, fmt.Sprintf("pod%d", pod)), append(to, fmt.Sprintf("pod%d", (pod+1)%k))
	}
	text := fmt.Sprintf(`
topology:
  name: fat-tree
  k: %d
  host_link:   {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
switch: {buffer: {size: 32MiB, private_per_queue: 3KB}, flow_control: {name: pfc, headroom: exact}}
hosts: {cc: {name: dcqcn}}
workload:
  - {name: permutation, generator: sequential, sizes: 64KB, count: 1, pairs: matched, from: [%s], to: [%s]}
run: {arrivals: 1us, stop: {when: all_flows_done, at_most: 2ms}}
`, k, strings.Join(from, ", "), strings.Join(to, ", "))
	cfg, err := Parse("large.yaml", []byte(text), set...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// BenchmarkLarge measures set-up, memory and speed of large fat-trees. Benchmark setup only builds
// them, so that its instructions can be subtracted from the count of a benchmark run.
func BenchmarkLarge(b *testing.B) {
	for _, k := range []int{16, 26, 40, 64, 80} {
		for _, what := range []string{"setup", "run"} {
			b.Run(fmt.Sprintf("%s/hosts=%d", what, k*k*k/4), func(b *testing.B) {
				for range b.N {
					measureLarge(b, largeTree(b, k), what == "run")
				}
			})
		}
	}
}

func measureLarge(b *testing.B, cfg *scenario.Config, run bool) {
	before, start := heap(), cpuSeconds(b)
	f, err := New(cfg, Options{})
	if err != nil {
		b.Fatal(err)
	}
	fast, err := sim.NewFast(f.Spec, sim.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(cpuSeconds(b)-start, "setup-s")
	if run {
		start = cpuSeconds(b)
		if _, err := fast.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		hops := float64(fast.Totals().Hops)
		b.ReportMetric((cpuSeconds(b)-start)*1e9/hops, "cpu-ns/hop")
		b.ReportMetric(hops, "hops")
	}
	used := heap() - before
	b.ReportMetric(float64(used)/1e6, "MB")
	b.ReportMetric(float64(used)/float64(f.Graph.Hosts), "B/host")
	runtime.KeepAlive(fast)
	runtime.KeepAlive(f)
}

// heap returns the bytes in use on the heap.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func cpuSeconds(t testing.TB) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
