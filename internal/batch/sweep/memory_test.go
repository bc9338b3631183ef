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

// What a sweep keeps does not grow with the points that it has prepared, but for the
// points themselves, nor with those that it has finished.
func TestMemoryDoesNotGrowWithPoints(t *testing.T) {
	const points, first = 100, 20
	// Objects of the heap, when so many points are done: a point that leaves its summary
	// or the names of its metrics behind leaves hundreds.
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
			runtime.GC() // pools are emptied by the second
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
			t.Errorf("preparing %t: %d objects stay of each point; allowed: %d", preparing, each, most)
		}
	}
}

// What a process took before does not count.
func TestPeakBeginsAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests run under the race detector, which gives no memory back")
	}
	const much = 512 << 20
	block := make([]byte, much)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	runtime.KeepAlive(block)
	if peak := PeakMemory(); peak == 0 {
		t.Skip("nobody says here how much memory a process has")
	} else if peak < much {
		t.Errorf("%d bytes at the peak, want %d or more", peak, much)
	}
	ForgetPeak()
	if peak := PeakMemory(); peak <= 0 || peak > much/2 {
		t.Errorf("%d bytes at the peak, after those who had more are gone", peak)
	}
}
