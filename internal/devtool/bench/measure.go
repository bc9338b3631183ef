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
	Cal      float64 // see calibrate
	Hops     uint64
	Wall     float64 // seconds
	CPU      float64 // seconds
	Allocs   float64 // per hop
	PeakRSS  int64   // bytes; 0 when unknown
}

// Measure builds the case, runs its warm-up, and measures the rest.
func Measure(ctx context.Context, c Case) (Sample, error) {
	samples, err := together(ctx, []Case{c}, 1)
	if err != nil {
		return Sample{}, err
	}
	samples[0].PeakRSS = peakRSS()
	return samples[0], nil
}

// together measures cases in one go. What is measured of each is cut into parts, and they
// take turns part by part: another tenant of the machine, who comes and goes within
// seconds, slows all of them alike. What one leaves in the caches is small beside a part.
func together(ctx context.Context, cases []Case, parts int) ([]Sample, error) {
	debug.FreeOSMemory() // what the last sample left does not count
	resetPeakRSS()
	runs := make([]*run, len(cases))
	for i, c := range cases {
		var err error
		if runs[i], err = start(ctx, c); err != nil {
			return nil, err
		}
	}
	runtime.GC()
	hugepage.Gather() // or only the first sample of a process would be in large pages
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

// run is a case that runs.
type run struct {
	c         Case
	f         *sim.Fast
	hops      uint64 // of the warm-up
	mallocs   uint64 // since then
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

// measure runs and measures one of so many parts.
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

// sample returns what was measured.
func (r *run) sample(cal float64) (Sample, error) {
	hops := r.f.Totals().Hops - r.hops
	if hops == 0 {
		return Sample{}, fmt.Errorf("no frame finished a link in %s; allowed: a longer measurement", r.c.Measured)
	}
	return Sample{
		NsPerHop: r.cpu * 1e9 / float64(hops), Cal: cal, Hops: hops, Wall: r.wall, CPU: r.cpu,
		Allocs: float64(r.mallocs) / float64(hops),
	}, nil
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
