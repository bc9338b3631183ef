package cli

import (
	"testing"
	"time"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

func TestHuman(t *testing.T) {
	for v, want := range map[units.Time]string{
		0: "0ps", 999: "999ps", 1000: "1.00ns", 12_345: "12.3ns", 999_499: "999ns", 999_500: "1.00us",
		5 * units.Millisecond: "5.00ms", 99_960 * units.Microsecond: "100ms", 90_000 * units.Second: "90000s",
	} {
		if got := human(v); got != want {
			t.Errorf("%d: got %s, want %s", v, got, want)
		}
	}
	if got := human(units.Bytes(2_097_152)); got != "2.10MB" {
		t.Errorf("2 MiB: got %s", got)
	}
}

func TestCount(t *testing.T) {
	for v, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1_234_567: "1,234,567"} {
		if got := count(v); got != want {
			t.Errorf("%d: got %s, want %s", v, got, want)
		}
	}
}

func TestProgressLine(t *testing.T) {
	// A quarter took 10 s, so the rest takes 30 s. 25 million hops in 10 s.
	if got, want := progressLine(units.Millisecond, 0.25, 25_000_000, 10*time.Second), "1.00ms simulated, 25 %, 2.5 M hops/s, about 30s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := explainLine(12_901_588, 0.58, 58*time.Second), "12,901,588 hops, 58 % explained, about 42s left"; got != want {
		t.Errorf("%q", got)
	}
	if got, want := progressLine(0, 0, 0, time.Second), "0ps simulated, 0 %, 0 hops/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSweepLine(t *testing.T) {
	// A quarter of the work took 20 s, so the rest takes 60 s.
	p := sweep.Progress{Done: 5, Total: 12, Reused: 4, Share: 0.25, Hops: 60_000}
	if got, want := sweepLine(p, 20*time.Second), "5 of 12 points (4 reused), 3 k hops/s, about 1m0s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sweepLine(sweep.Progress{Preparing: true, Done: 3, Total: 12}, 2*time.Second), "3 of 12 points prepared, about 6s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sweepLine(sweep.Progress{Done: 2, Total: 2, Reused: 2}, time.Second), "2 of 2 points (2 reused), 0 hops/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWorkersLine(t *testing.T) {
	for _, c := range []struct {
		workers int
		want    string
	}{
		{0, "30 of 100 points (10 reused), no workers; start xoff worker nats://127.0.0.1:4222"},
		// 20 points in 2 min, a quarter of the work: the rest takes three times as long
		{1, "30 of 100 points (10 reused), 1 worker (8 at a time), 10 points/min, about 6m0s left"},
		{3, "30 of 100 points (10 reused), 3 workers (8 at a time), 10 points/min, about 6m0s left"},
	} {
		p := sweep.Progress{Done: 30, Total: 100, Reused: 10, Share: 0.25}
		if got := workersLine(p, 2*time.Minute, c.workers, 8, "nats://127.0.0.1:4222"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
