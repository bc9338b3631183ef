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

// colored reports whether to print colours to w: on a terminal that is not dumb, unless
// NO_COLOR is set. FORCE_COLOR also enables them in pipes.
func colored(w io.Writer, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" {
		return false
	}
	if force := getenv("FORCE_COLOR"); force != "" && force != "0" {
		return true
	}
	return getenv("TERM") != "dumb" && isTerminal(w)
}

// warning returns the word "warning", in yellow if standard error shows colours.
func (a *app) warning() string {
	c := color.New(color.FgYellow)
	c.DisableColor()
	if colored(a.err, os.Getenv) {
		c.EnableColor()
	}
	return c.Sprint("warning")
}

// Modes of a meter.
const (
	meterOff   = iota
	meterLine  // rewrites one line of a terminal
	meterPlain // prints a line from time to time
)

// Delay before the first line of a meter, and interval between lines.
const (
	lineAfter, lineEvery   = 2 * time.Second, 200 * time.Millisecond
	plainAfter, plainEvery = 10 * time.Second, 30 * time.Second
)

// meter shows the progress of a command on standard error. Short commands show nothing.
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

// restart sets the start time to now, after the preparations of a command.
func (m *meter) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start = m.now()
}

// show prints a line if one is due. It passes the elapsed time to line.
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

// showUntil keeps showing a line, for work that does not report progress. It ends when done
// becomes true or the caller calls stop.
func (m *meter) showUntil(done *atomic.Bool, line func(passed time.Duration) string) (stop func()) {
	stopped := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		for !done.Load() {
			select {
			case <-stopped:
				return
			case <-tick.C:
				m.show(line)
			}
		}
	})
	return func() {
		close(stopped)
		wg.Wait()
	}
}

// showWorking shows a fixed text until the caller calls stop, for work that does not report
// progress.
func (a *app) showWorking(text string) (stop func()) {
	m := a.newMeter()
	stopMeter := m.showUntil(new(atomic.Bool), func(time.Duration) string { return text })
	return func() {
		stopMeter()
		m.clear()
	}
}

// clear removes the meter's line from the terminal.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown {
		fmt.Fprint(m.out, "\r\x1b[K")
		m.shown = false
	}
}

// timeLeft estimates the remaining time from the finished share of the work. It returns ""
// while the share is 0.
func timeLeft(share float64, passed time.Duration) string {
	if share <= 0 || share > 1 {
		return ""
	}
	left := time.Duration(float64(passed) * (1 - share) / share)
	return fmt.Sprintf(", about %s left", left.Round(time.Second))
}

// speed formats hops per second.
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

// progressLine formats the progress of a run.
func progressLine(now units.Time, share float64, hops uint64, passed time.Duration) string {
	return fmt.Sprintf("%s simulated, %.0f %%", human(now), share*100) + speed(hops, passed) + timeLeft(share, passed)
}

// sweepLine formats the progress of a sweep.
func sweepLine(p sweep.Progress, passed time.Duration) string {
	if p.Preparing {
		return fmt.Sprintf("%d of %d points prepared", p.Done, p.Total) + timeLeft(float64(p.Done)/float64(p.Total), passed)
	}
	line := fmt.Sprintf("%d of %d points", p.Done, p.Total)
	if p.Reused > 0 {
		line += fmt.Sprintf(" (%d reused)", p.Reused)
	}
	return line + speed(p.Hops, passed) + timeLeft(p.Share, passed)
}
