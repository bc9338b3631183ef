package engine

import (
	"time"

	"github.com/xoff-net/xoff/base/units"
)

// Clock is the clock of a run. It never goes backwards.
type Clock interface {
	// Start sets the current time to 0.
	Start()
	Now() units.Time
	// Wait returns at the time or a little later. It may also return earlier.
	Wait(until units.Time)
}

// A sleep ends some microseconds late, so Real spins for the last microseconds of a wait.
const (
	spinFor  = 20 * time.Microsecond
	minSleep = 10 * time.Microsecond
)

// Real is the clock of the machine. A sleep lasts at most Longest; 0: unlimited.
type Real struct {
	Longest time.Duration
	start   time.Time
	// until sleeps for a duration or until a frame arrives, and returns true; or it returns false
	// if frames are frequent, so that a sleep of Longest collects several. nil: never.
	until func(d time.Duration) bool
}

// Start implements Clock. It locks the calling goroutine to its thread and reduces the timer
// slack of that thread.
func (c *Real) Start() {
	sleepExactly()
	c.start = time.Now()
}

// Now implements Clock.
func (c *Real) Now() units.Time { return units.Time(time.Since(c.start)) * units.Nanosecond }

// Wait implements Clock.
func (c *Real) Wait(until units.Time) {
	if d := time.Duration((until-c.Now())/units.Nanosecond) - spinFor; d >= minSleep {
		if c.until != nil && c.until(d) {
			return
		}
		if c.Longest > 0 {
			d = min(d, c.Longest)
		}
		sleep(d)
		return
	}
	for range 16 { // return early, so that the caller can poll
		if c.Now() >= until {
			return
		}
	}
}
