package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
)

// Exit codes of the command, and codes of verdicts.
const (
	Fine        = 0
	Failure     = 1 // something failed, or a check found a problem
	BadInput    = 2 // a mistake in the scenario or on the command line
	Broken      = 3 // a promise of the fabric was broken: lossless drop, invariant
	Interrupted = 130
)

// Verdict is what a run that has results found wrong; the zero value is nothing.
type Verdict struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Unfinished are flows that the run should have waited for, had stop.at_most not
	// ended it.
	Unfinished int `json:"unfinished,omitempty"`
	// Aborted says that an expectation ended the run: its results are partial.
	Aborted bool `json:"aborted,omitempty"`
}

// judge turns what a run found into a verdict.
func judge(ctx context.Context, b *fabric.Fabric, s *metrics.Summary, invariants Invariants, folder string) Verdict {
	switch {
	case ctx.Err() != nil:
		where := ""
		if folder != "" {
			where = "; partial results are in " + folder
		}
		return Verdict{Code: Interrupted, Message: fmt.Sprintf("interrupted at %s of the run%s", s.End.Human(), where)}
	case invariants == Strict && s.Invariants.Broken > 0:
		return Verdict{Code: Broken, Message: "broken invariant: " + s.Invariants.First}
	case s.Drops.Broken > 0:
		return Verdict{Code: Broken, Message: fmt.Sprintf("%d frames of lossless classes were dropped, but flow control %s promises that none is; `xoff check` tells whether headroom is too small",
			s.Drops.Broken, strings.Join(b.FlowControls(), ", "))}
	}
	if n, waiting := b.Unfinished(s.End); n > 0 {
		return Verdict{Code: Failure, Unfinished: n, Message: unfinished(s, n, waiting)}
	}
	return Verdict{}
}

// unfinished says what at_most cut off, and what may help.
func unfinished(s *metrics.Summary, n, waiting int) string {
	text := fmt.Sprintf("run.stop.at_most ended the run at %s with %d flows that were not done", s.End.Human(), n)
	if waiting > 0 {
		text += fmt.Sprintf(", of which %d had not started", waiting)
	}
	if s.Deadlock.Standing > 0 {
		return text + "; there is a deadlock, see deadlock in the summary"
	}
	return text + "; allow more time, or say `run.stop.when: time` where an end in the middle is meant"
}
