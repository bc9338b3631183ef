package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario/build"
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
}

// judge turns what a run found into a verdict.
func judge(ctx context.Context, b *build.Built, s *metrics.Summary, invariants Invariants, folder string) Verdict {
	switch {
	case ctx.Err() != nil:
		where := ""
		if folder != "" {
			where = "; partial results are in " + folder
		}
		return Verdict{Interrupted, fmt.Sprintf("interrupted at %s of simulated time%s", s.End.Human(), where)}
	case invariants == Strict && s.Invariants.Broken > 0:
		return Verdict{Broken, "broken invariant: " + s.Invariants.First}
	case s.Drops.Broken > 0:
		return Verdict{Broken, fmt.Sprintf("%d frames of lossless classes were dropped, but flow control %s promises that none is; `xoff check` tells whether headroom is too small",
			s.Drops.Broken, strings.Join(b.FlowControls(), ", "))}
	}
	return Verdict{}
}
