package cli

import (
	"testing"
	"time"

	"github.com/xoff-net/xoff/units"
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
	if got, want := progressLine(units.Millisecond, 0.25, 10*time.Second), "1.00ms simulated, 25 %, about 30s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := progressLine(0, 0, time.Second), "0ps simulated, 0 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
