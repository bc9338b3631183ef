package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// colored decides whether text on w has colours: on a terminal that is not dumb,
// unless NO_COLOR is set; FORCE_COLOR wants them in pipes too.
func colored(w io.Writer, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" {
		return false
	}
	if force := getenv("FORCE_COLOR"); force != "" && force != "0" {
		return true
	}
	return getenv("TERM") != "dumb" && isTerminal(w)
}

// warning is the word for standard error, in yellow where that has colours.
func (a *app) warning() string {
	c := color.New(color.FgYellow)
	c.DisableColor()
	if colored(a.err, os.Getenv) {
		c.EnableColor()
	}
	return c.Sprint("warning")
}

// How a meter shows itself.
const (
	meterOff   = iota
	meterLine  // one line of a terminal, written anew
	meterPlain // a line from time to time
)

// How long a command is silent, and how often it speaks after that.
const (
	lineAfter, lineEvery   = 2 * time.Second, 200 * time.Millisecond
	plainAfter, plainEvery = 10 * time.Second, 30 * time.Second
)

// meter shows on standard error how far a command is. Short ones show nothing.
type meter struct {
	out  io.Writer
	mode int
	now  func() time.Time

	mu    sync.Mutex
	start time.Time
	next  time.Time
	shown bool
}

func (a *app) newMeter() *meter {
	mode := meterPlain
	switch {
	case a.quiet:
		mode = meterOff
	case isTerminal(a.err) && os.Getenv("TERM") != "dumb":
		mode = meterLine
	}
	return startMeter(a.err, mode, time.Now)
}

func startMeter(out io.Writer, mode int, now func() time.Time) *meter {
	m := &meter{out: out, mode: mode, now: now, start: now()}
	m.next = m.start.Add(lineAfter)
	if mode == meterPlain {
		m.next = m.start.Add(plainAfter)
	}
	return m
}

// restart is for a command that begins with something else, which took its time.
func (m *meter) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start = m.now()
}

// show writes a line when it is time; line gets how long the command has run.
func (m *meter) show(line func(passed time.Duration) string) {
	if m.mode == meterOff {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if now.Before(m.next) {
		return
	}
	text := line(now.Sub(m.start))
	if m.mode == meterPlain {
		m.next = now.Add(plainEvery)
		fmt.Fprintln(m.out, text)
		return
	}
	m.next, m.shown = now.Add(lineEvery), true
	fmt.Fprintf(m.out, "\r%s\x1b[K", text)
}

// during shows a line again and again, for work that does not say how far it is, until
// there is something better to show or the function that it returns is called.
func (m *meter) during(line func(passed time.Duration) string, better *atomic.Bool) (stop func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		for !better.Load() {
			select {
			case <-over:
				return
			case <-tick.C:
				m.show(line)
			}
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}

// meanwhile shows a line while something goes on that does not say how far it is,
// until the function that it returns is called.
func (a *app) meanwhile(what string) (stop func()) {
	m := a.newMeter()
	over := m.during(func(time.Duration) string { return what }, new(atomic.Bool))
	return func() {
		over()
		m.clear()
	}
}

// clear removes the line of a terminal.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown {
		fmt.Fprint(m.out, "\r\x1b[K")
		m.shown = false
	}
}

// timeLeft estimates from the share that is done. It is empty while there is
// nothing to go by.
func timeLeft(share float64, passed time.Duration) string {
	if share <= 0 || share > 1 {
		return ""
	}
	left := time.Duration(float64(passed) * (1 - share) / share)
	return fmt.Sprintf(", about %s left", left.Round(time.Second))
}

// speed prints hops per second.
func speed(hops uint64, passed time.Duration) string {
	rate := float64(hops) / max(passed.Seconds(), 1e-3)
	switch {
	case rate >= 1e6:
		return fmt.Sprintf(", %.1f M hops/s", rate/1e6)
	case rate >= 1e3:
		return fmt.Sprintf(", %.0f k hops/s", rate/1e3)
	}
	return fmt.Sprintf(", %.0f hops/s", rate)
}

// progressLine tells how far a run is.
func progressLine(now units.Time, share float64, hops uint64, passed time.Duration) string {
	return fmt.Sprintf("%s simulated, %.0f %%", human(now), share*100) + speed(hops, passed) + timeLeft(share, passed)
}

// sweepLine tells how far a sweep is.
func sweepLine(p sweep.Progress, passed time.Duration) string {
	if p.Preparing {
		return fmt.Sprintf("%d of %d points are prepared", p.Done, p.Total) + timeLeft(float64(p.Done)/float64(p.Total), passed)
	}
	line := fmt.Sprintf("%d of %d points", p.Done, p.Total)
	if p.Reused > 0 {
		line += fmt.Sprintf(" (%d from before)", p.Reused)
	}
	return line + speed(p.Hops, passed) + timeLeft(p.Share, passed)
}
