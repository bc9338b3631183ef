package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/units"
)

func TestQuick(t *testing.T) {
	ms, _ := strconv.Atoi(os.Getenv("US"))
	if ms == 0 {
		ms = 1000
	}
	w, _ := strconv.Atoi(os.Getenv("W"))
	hosts, _ := strconv.Atoi(os.Getenv("HOSTS"))
	if hosts == 0 {
		hosts = 256
	}
	d, _ := strconv.Atoi(os.Getenv("NS"))
	if d == 0 {
		d = 1000
	}
	c := Case{Hosts: hosts, LinkDelay: units.Time(d) * units.Nanosecond, Measured: units.Time(ms) * units.Microsecond}
	cfg, err := c.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	for range reps() {
		b, err := scenario.Build(cfg, scenario.BuildOptions{Invariants: os.Getenv("INV") != ""})
		if err != nil {
			t.Fatal(err)
		}
		f, err := sim.NewFast(b.Spec, sim.Options{Workers: w})
		if err != nil {
			t.Fatal(err)
		}
		t0 := time.Now()
		c0 := cpu()
		end, err := f.Run(context.Background())
		el := time.Since(t0)
		cp := cpu() - c0
		h := f.Totals()
		fmt.Printf("end %v err %v hops %d flows %d wall %.3f ns/hop %.1f  %+v\n", end, err, h.Hops, len(b.Flows.Flow), el.Seconds(), cp*1e9/float64(h.Hops), h)
		for _, c := range b.Checks {
			if c.Broken > 0 {
				t.Fatal(c.First)
			}
		}
	}
}

func cpu() float64 {
	var ru syscall.Rusage
	_ = syscall.Getrusage(0, &ru)
	return float64(ru.Utime.Sec) + float64(ru.Utime.Usec)/1e6
}

func reps() int {
	n, _ := strconv.Atoi(os.Getenv("REPS"))
	if n == 0 {
		n = 5
	}
	return n
}
