package cli

import (
	"bytes"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/live/engine"
	"github.com/xoff-net/xoff/run"
)

// TestJudgeLive checks that a dead wire and a vanished peer change the exit code, the message and
// the printed report, and that they hide no other problem.
func TestJudgeLive(t *testing.T) {
	unsent := engine.Report{Ran: units.Second, Unsent: []engine.Unsent{{Port: "leaf0.to-spine0", Error: "network is down", Frames: 7}}}
	vanished := engine.Report{Ran: 5 * units.Second, Vanished: []engine.Vanished{{Node: "spine0", Port: "leaf0.to-spine0", Silent: 4 * units.Second}}}
	dropped := run.Verdict{Code: run.Broken, Message: "2 lossless frames were dropped"}
	for _, c := range []struct {
		name   string
		report engine.Report
		found  run.Verdict
		code   int
		want   []string // parts of the message
	}{
		{"nothing", engine.Report{Ran: units.Second}, run.Verdict{}, run.Fine, nil},
		{"dead wire", unsent, run.Verdict{}, run.Failure, []string{"7 frames could not be sent on leaf0.to-spine0: network is down; "}},
		{"vanished", vanished, run.Verdict{}, run.Failure, []string{"spine0 vanished: no frame on leaf0.to-spine0 for the last 4.00s of 5.00s"}},
		{"also dropped", vanished, dropped, run.Broken, []string{"spine0 vanished", "; also: 2 lossless frames"}},
		{"interrupted", unsent, run.Verdict{Code: run.Interrupted, Message: "interrupted at 1s"}, run.Interrupted, []string{"7 frames", "; also: interrupted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judgeLive(&c.report, 0, c.found)
			if got.Code != c.code || (got.Message == "") != (len(c.want) == 0) {
				t.Errorf("%d: %q (expected code %d)", got.Code, got.Message, c.code)
			}
			for _, part := range c.want {
				if !strings.Contains(got.Message, part) {
					t.Errorf("%q lacks %q", got.Message, part)
				}
			}
		})
	}
	var out bytes.Buffer
	w := &sheet{tab: tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)}
	w.lateness(&unsent)
	w.lateness(&vanished)
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"not sent  7 frames on leaf0.to-spine0: network is down", "vanished  spine0: no frame on leaf0.to-spine0 for the last 4.00s"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%s\nlacks %q", out.String(), part)
		}
	}
}
