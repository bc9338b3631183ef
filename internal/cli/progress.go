package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/units"
)

// progress shows on a terminal how far a run is. Short runs show nothing.
type progress struct {
	out   io.Writer
	built *scenario.Built
	start time.Time
	last  time.Time
	shown bool
	on    bool
}

const (
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
)

func newProgress(a *app, b *scenario.Built) *progress {
	now := time.Now()
	return &progress{out: a.err, built: b, start: now, last: now, on: !a.quiet && isTerminal(a.err)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// hook returns what the engine calls; nil when there is nothing to show.
func (p *progress) hook() func(units.Time) {
	if !p.on {
		return nil
	}
	return func(now units.Time) {
		t := time.Now()
		if t.Sub(p.start) < progressAfter || t.Sub(p.last) < progressEvery {
			return
		}
		p.last, p.shown = t, true
		fmt.Fprintf(p.out, "\r%s\x1b[K", progressLine(now, p.share(now), t.Sub(p.start)))
	}
}

// share estimates how much of the run is done, from what ends it.
func (p *progress) share(now units.Time) float64 {
	run := &p.built.Config.Run
	if run.Stop.When == "time" {
		return float64(now) / float64(run.Stop.AtMost)
	}
	done := 0
	for i := range p.built.Flows.Flow {
		if p.built.Flows.Done(i) {
			done++
		}
	}
	return max(float64(now)/float64(run.Stop.AtMost), float64(done)/float64(max(1, len(p.built.Flows.Flow))))
}

func progressLine(now units.Time, share float64, passed time.Duration) string {
	line := fmt.Sprintf("%s simulated, %.0f %%", human(now), share*100)
	if share > 0 && share <= 1 {
		left := time.Duration(float64(passed) * (1 - share) / share)
		line += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return line
}

// clear removes the line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
