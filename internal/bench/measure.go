package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// Sample is one measurement.
type Sample struct {
	NsPerHop float64 // CPU time of the whole process
	Cal      float64 // see calibrate
	Hops     uint64
	Wall     float64 // seconds
	CPU      float64 // seconds
	Allocs   float64 // per hop
	PeakRSS  int64   // bytes; 0 when unknown
}

// Measure builds the case, runs its warm-up, and measures the rest.
func Measure(ctx context.Context, c Case) (Sample, error) {
	cfg, err := c.Scenario()
	if err != nil {
		return Sample{}, err
	}
	debug.FreeOSMemory() // what the last sample left does not count
	resetPeakRSS()
	b, err := scenario.Build(cfg, scenario.BuildOptions{})
	if err != nil {
		return Sample{}, err
	}
	f, err := sim.NewFast(b.Spec, sim.Options{Workers: c.Workers})
	if err != nil {
		return Sample{}, err
	}
	if c.WarmUp > 0 {
		if _, err := f.RunUntil(ctx, c.WarmUp); err != nil {
			return Sample{}, err
		}
	}
	runtime.GC()
	before := f.Totals().Hops
	cal := calibrate()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	wall, cpu := time.Now(), cpuSeconds()
	_, err = f.Run(ctx)
	s := Sample{CPU: cpuSeconds() - cpu, Wall: time.Since(wall).Seconds()}
	runtime.ReadMemStats(&m1)
	s.Cal = min(cal, calibrate())
	if err != nil {
		return Sample{}, err
	}
	if s.Hops = f.Totals().Hops - before; s.Hops == 0 {
		return Sample{}, fmt.Errorf("no frame finished a link in %s; allowed: a longer measurement", c.Measured)
	}
	s.NsPerHop = s.CPU * 1e9 / float64(s.Hops)
	s.Allocs = float64(m1.Mallocs-m0.Mallocs) / float64(s.Hops)
	s.PeakRSS = peakRSS()
	return s, nil
}

// calibrate returns the CPU nanoseconds of one dependent xorshift step, six
// simple operations: what this machine can do at this moment.
func calibrate() float64 {
	const rounds, steps = 5, 4_000_000
	best := 0.0
	for r := range rounds {
		start := cpuSeconds()
		x := uint64(88172645463325252)
		for range steps {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		runtime.KeepAlive(x) // the loop must not be optimised away
		if ns := (cpuSeconds() - start) * 1e9 / steps; r == 0 || ns < best {
			best = ns
		}
	}
	return best
}

// cpuSeconds returns the CPU time of the process, all threads, user and system.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakRSS returns the largest resident size since the last reset.
func peakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			if kb, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64); err == nil {
				return kb << 10
			}
		}
	}
	return 0
}

// resetPeakRSS starts a new peak. Where the kernel does not allow that, peakRSS
// is that of the process so far, which is never too small.
func resetPeakRSS() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
