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

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/sys/hugepage"
	"github.com/xoff-net/xoff/sim"
)

// Sample is one measurement.
type Sample struct {
	NsPerHop float64 // CPU time of the whole process
	Cal      float64 // CPU nanoseconds of one calibration step, see calibrate
	Hops     uint64
	Wall     float64 // seconds
	CPU      float64 // seconds
	Allocs   float64 // per hop
	PeakRSS  int64   // bytes; 0 if unknown
}

// Measure builds the case, runs its warm-up and measures the rest of the run.
func Measure(ctx context.Context, c Case) (Sample, error) {
	samples, err := measureInterleaved(ctx, []Case{c}, 1)
	if err != nil {
		return Sample{}, err
	}
	samples[0].PeakRSS = peakRSS()
	return samples[0], nil
}

// measureInterleaved measures several cases at once. It cuts each case into parts and runs
// them alternately, so that other load on the machine slows all cases equally. A part is
// long enough that the caches left by the previous one do not matter.
func measureInterleaved(ctx context.Context, cases []Case, parts int) ([]Sample, error) {
	debug.FreeOSMemory() // do not count memory of the last sample
	resetPeakRSS()
	runs := make([]*run, len(cases))
	for i, c := range cases {
		var err error
		if runs[i], err = start(ctx, c); err != nil {
			return nil, err
		}
	}
	runtime.GC()
	hugepage.Gather() // otherwise only the first sample of a process uses large pages
	cal := calibrate()
	for part := range parts {
		for _, r := range runs {
			if err := r.measure(ctx, part, parts); err != nil {
				return nil, err
			}
		}
	}
	cal = min(cal, calibrate())
	samples := make([]Sample, len(runs))
	for i, r := range runs {
		var err error
		if samples[i], err = r.sample(cal); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// run is a case that is being measured.
type run struct {
	c         Case
	f         *sim.Fast
	hops      uint64 // hops of the warm-up
	mallocs   uint64 // allocations after the warm-up
	wall, cpu float64
}

// start builds the case and runs its warm-up.
func start(ctx context.Context, c Case) (*run, error) {
	cfg, err := c.Scenario()
	if err != nil {
		return nil, err
	}
	b, err := fabric.New(cfg, fabric.Options{})
	if err != nil {
		return nil, err
	}
	f, err := sim.NewFast(b.Spec, sim.Options{Workers: c.Workers})
	if err != nil {
		return nil, err
	}
	if c.WarmUp > 0 {
		if _, err := f.RunUntil(ctx, c.WarmUp); err != nil {
			return nil, err
		}
	}
	return &run{c: c, f: f, hops: f.Totals().Hops}, nil
}

// measure runs and measures the given part out of parts.
func (r *run) measure(ctx context.Context, part, parts int) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wall, cpu := time.Now(), cpuSeconds()
	var err error
	if part < parts-1 {
		_, err = r.f.RunUntil(ctx, r.c.WarmUp+r.c.Measured*units.Time(part+1)/units.Time(parts))
	} else {
		_, err = r.f.Run(ctx)
	}
	r.cpu += cpuSeconds() - cpu
	r.wall += time.Since(wall).Seconds()
	runtime.ReadMemStats(&after)
	r.mallocs += after.Mallocs - before.Mallocs
	return err
}

// sample returns the measurement.
func (r *run) sample(cal float64) (Sample, error) {
	hops := r.f.Totals().Hops - r.hops
	if hops == 0 {
		return Sample{}, fmt.Errorf("no frame finished a link in %s; fix: measure for longer", r.c.Measured)
	}
	return Sample{
		NsPerHop: r.cpu * 1e9 / float64(hops), Cal: cal, Hops: hops, Wall: r.wall, CPU: r.cpu,
		Allocs: float64(r.mallocs) / float64(hops),
	}, nil
}

// calibrate returns the CPU nanoseconds of one dependent xorshift step, six simple
// operations: the current speed of the machine.
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

// peakRSS returns the largest resident size since the last reset in bytes, 0 if unknown.
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

// resetPeakRSS resets the peak of the process. Where the kernel does not allow it, peakRSS
// returns the peak since the process started, which may be too large.
func resetPeakRSS() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
