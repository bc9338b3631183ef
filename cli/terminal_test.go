package cli

import (
	"bytes"
	"io"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	now := time.Unix(0, 0)
	for _, c := range []struct {
		mode int
		want string
	}{
		{meterOff, ""},
		{meterLine, "\r2s\x1b[K\r12s\x1b[K\r43s\x1b[K\r\x1b[K"}, // 12.1 s is within lineEvery of 12 s
		{meterPlain, "12s\n43s\n"},
	} {
		var out bytes.Buffer
		m := startMeter(&out, c.mode, func() time.Time { return now })
		for _, at := range []time.Duration{1000, 2000, 12000, 12100, 43000} {
			now = m.start.Add(at * time.Millisecond)
			m.show(func(passed time.Duration) string { return passed.String() })
		}
		m.clear()
		if out.String() != c.want {
			t.Errorf("mode %d: %q, want %q", c.mode, out.String(), c.want)
		}
	}
}

func TestColored(t *testing.T) {
	for _, c := range []struct {
		no, force, term string
		want            bool
	}{
		{"", "", "xterm", false}, // the output is not a terminal
		{"", "1", "xterm", true},
		{"", "0", "xterm", false},
		{"1", "1", "xterm", false},
		{"", "1", "dumb", true},
	} {
		env := map[string]string{"NO_COLOR": c.no, "FORCE_COLOR": c.force, "TERM": c.term}
		if got := colored(io.Discard, func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
