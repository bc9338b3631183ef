package sweep

import (
	"context"
	"runtime"
	"testing"

	"github.com/xoff-net/xoff/run"
)

const oneFrame = `
topology: {name: one-switch, hosts: 2, host_link: {rate: 100Gbps, delay: 1us}}
workload: [{name: w, generator: flows, class: rdma, flows: [{from: host0, to: host1, size: 1000B}]}]
run: {arrivals: 1us, stop: {when: time, at_most: 10us}}
`

// The memory of a sweep grows by little more than the point itself for each prepared or
// finished point.
func TestMemoryDoesNotGrowWithPoints(t *testing.T) {
	const points, first = 100, 20
	// Heap objects per point. A point that kept its summary or the names of its metrics
	// would add hundreds.
	const most = 20
	g := &Grid{Name: "one.yaml", Data: []byte(oneFrame)}
	for i := range points {
		g.Seeds = append(g.Seeds, uint64(i+1))
	}
	r := &Runner{Store: Store{Folder: t.TempDir()}, Workers: 1}
	r.Simulate(run.Options{Engine: run.Fast, Invariants: run.Off, WindowDivisor: 1})
	live := make(map[bool]map[int]uint64)
	live[true], live[false] = make(map[int]uint64), make(map[int]uint64)
	r.Progress = func(p Progress) {
		if (p.Done == first || p.Done == points) && live[p.Preparing][p.Done] == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC() // the second collection empties pools
			runtime.ReadMemStats(&m)
			live[p.Preparing][p.Done] = m.HeapObjects
		}
	}
	list, err := r.Prepare(context.Background(), g, "", nil)
	if err == nil {
		err = r.Store.Open(g, list, Opening{})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	if _, err := r.Sweep(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	for preparing, at := range live {
		if at[first] == 0 || at[points] == 0 {
			t.Errorf("preparing %t: nothing was measured", preparing)
		}
		if each := (int(at[points]) - int(at[first])) / (points - first); each > most {
			t.Errorf("preparing %t: %d objects stay per point, want at most %d", preparing, each, most)
		}
	}
}

// After ResetPeak, earlier memory does not count.
func TestResetPeak(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests run under the race detector, which does not return memory")
	}
	const much = 512 << 20
	block := make([]byte, much)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	runtime.KeepAlive(block)
	if peak := PeakMemory(); peak == 0 {
		t.Skip("the peak memory of a process is unknown here")
	} else if peak < much {
		t.Errorf("peak is %d bytes, want %d or more", peak, much)
	}
	ResetPeak()
	if peak := PeakMemory(); peak <= 0 || peak > much/2 {
		t.Errorf("peak is %d bytes after a reset, want at most %d", peak, much/2)
	}
}
