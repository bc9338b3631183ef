package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
)

// Exit codes of the command, which are also the codes of verdicts.
const (
	Fine        = 0
	Failure     = 1 // a failure, or a problem found by a check
	BadInput    = 2 // an error in the scenario or on the command line
	Broken      = 3 // a broken promise of the fabric: a lossless drop or an invariant
	Interrupted = 130
)

// Verdict is the most important problem of a run with results; the zero value means that
// there is none.
type Verdict struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Unfinished is the number of flows that the run would have waited for if
	// stop.at_most had not ended it.
	Unfinished int `json:"unfinished,omitempty"`
	// Aborted reports that an expectation ended the run: its results are partial.
	Aborted bool `json:"aborted,omitempty"`
	// Otherwise is the verdict of a run with broken lossless promises if an expectation
	// allows its lossless drops; nil for other runs.
	Otherwise *Verdict `json:"otherwise,omitempty"`
}

// judge returns the verdict of a run without its expectations.
func judge(ctx context.Context, b *fabric.Fabric, s *metrics.Summary, invariants Invariants, folder string) Verdict {
	switch {
	case ctx.Err() != nil:
		where := ""
		if folder != "" {
			where = "; partial results are in " + folder
		}
		return Verdict{Code: Interrupted, Message: fmt.Sprintf("interrupted at %s of simulated time%s", s.End.Human(), where)}
	case invariants == Strict && s.Invariants.Broken > 0:
		return Verdict{Code: Broken, Message: "broken invariant: " + s.Invariants.First}
	}
	var v Verdict
	if n, waiting := b.Unfinished(s.End); n > 0 {
		v = Verdict{Code: Failure, Unfinished: n, Message: unfinished(b, s, n, waiting)}
	}
	if s.Drops.Broken > 0 {
		return Verdict{Code: Broken, Otherwise: &v, Message: fmt.Sprintf("%d lossless frames were dropped although flow control %s promises none; "+
			"fix: find headroom or a pool that is too small with `xoff check`, or allow drops with `expect`",
			s.Drops.Broken, strings.Join(b.FlowControls(true), ", "))}
	}
	return v
}

// unfinished returns the message for a run that at_most ended early.
func unfinished(b *fabric.Fabric, s *metrics.Summary, n, waiting int) string {
	text := fmt.Sprintf("run.stop.at_most ended the run at %s with %d unfinished flows", s.End.Human(), n)
	if waiting > 0 {
		text += fmt.Sprintf(", %d of which had not started", waiting)
	}
	if s.Deadlock.Standing > 0 {
		return text + "; the run has a deadlock, see `deadlock` in the summary"
	}
	if n == waiting { // nothing is under way
		for _, j := range b.Jobs {
			if stuck := j.Stuck(s.End); stuck != "" {
				return text + "; job " + j.Name + " never ends: " + stuck
			}
		}
	}
	return text + "; fix: increase run.stop.at_most, or set `run.stop.when: time` to end the run at a fixed time"
}
