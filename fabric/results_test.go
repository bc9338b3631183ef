package fabric_test

import (
	"context"
	"io"
	"runtime"
	"testing"
	"unsafe"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// manyFlows runs about 100,000 flows on 1024 hosts.
func manyFlows(t testing.TB) *metrics.Outcome {
	t.Helper()
	cfg := scenario.Default()
	cfg.Name = "many"
	link := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	cfg.Topology = scenario.Fabric("leaf-spine", &topo.LeafSpineParams{Leaves: 64, Spines: 8, HostsPerLeaf: 16, HostLink: link, FabricLink: link})
	// 1024 hosts at 100 Gbps and a load of 0.4 start 0.4 x 1024 x 12.5 GB/s / 1 KB =
	// 5.12 flows per ns: 100,000 flows take about 20 us.
	cfg.Run.Arrivals = 21 * units.Microsecond
	cfg.Workload = []scenario.Workload{
		{Name: "a", Generator: "poisson", Params: &workload.Poisson{Sizes: "1KB", AtOnce: 1}, Load: scenario.Load{Share: 0.2, Of: "host_links"}, Class: scenario.ClassChoice{Random: "rdma"}},
		{Name: "b", Generator: "poisson", Params: &workload.Poisson{Sizes: "1KB", AtOnce: 1}, Load: scenario.Load{Share: 0.2, Of: "host_links"}, Class: scenario.ClassChoice{Random: "rdma"}},
	}
	built, err := fabric.New(cfg, fabric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := sim.NewFast(built.Spec, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end, err := e.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	o := built.Outcome(end, e.Totals(), e.Final(), false)
	if n := len(o.Flows.Flow); n < 100_000 || n > 120_000 {
		t.Fatalf("%d flows, want 100,000 to 120,000", n)
	}
	return o
}

// heap returns the number of heap bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peakWriter records the peak heap usage while it is written to.
type peakWriter struct {
	written, checked int // bytes written, in all and at the last measurement
	peak             uint64
}

func (w *peakWriter) Write(p []byte) (int, error) {
	if w.written += len(p); w.checked == 0 || w.written-w.checked > 1<<18 {
		w.checked = w.written
		w.peak = max(w.peak, heap())
	}
	return len(p), nil
}

// Results and the memory for writing them take less than 200 bytes per flow.
func TestMemoryOfResults(t *testing.T) {
	if testing.Short() {
		t.Skip("runs 100,000 flows")
	}
	o := manyFlows(t)
	flows := len(o.Flows.Flow)
	// Tables by flow: the flow, its two ends, the queue pair of an active flow (an int32),
	// the ideal time, workload and burst.
	tables := unsafe.Sizeof(dataplane.Flow{}) + unsafe.Sizeof(dataplane.SendResult{}) + unsafe.Sizeof(dataplane.RecvResult{}) + unsafe.Sizeof(int32(0)) +
		unsafe.Sizeof(o.Ideal[0]) + unsafe.Sizeof(o.Origin[0]) + unsafe.Sizeof(o.Groups[0])
	before := heap()
	s := o.Summarize()
	if s.Flows.Unfinished != 0 || s.Flows.Measured != flows {
		t.Errorf("unexpected flows: %+v", s.Flows)
	}
	w := &peakWriter{}
	for _, f := range o.Tables() {
		if err := f.Write(w, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	extra := float64(w.peak-before) / float64(flows)
	// The summary's memory is freed before tables are written: 4 bytes of order and 16
	// of values per flow, see groupFlows.
	extra = max(extra, 20)
	t.Logf("%d flows: %d bytes per flow in tables, at most %.1f while results are written", flows, tables, extra)
	if sum := float64(tables) + extra; sum >= 200 {
		t.Errorf("%.1f bytes per flow, want less than 200", sum)
	}
	runtime.KeepAlive(o)
}

// BenchmarkResults measures the time from the end of a run to its results, for 100,000
// flows on 1024 hosts. It should stay below 2 s.
func BenchmarkResults(b *testing.B) {
	o := manyFlows(b)
	b.ResetTimer()
	for range b.N {
		if err := o.Summarize().Write(io.Discard); err != nil {
			b.Fatal(err)
		}
		for _, f := range o.Tables() {
			if err := f.Write(io.Discard, io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	}
}
