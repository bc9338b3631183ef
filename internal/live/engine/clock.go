package engine

import (
	"time"

	"github.com/xoff-net/xoff/base/units"
)

// Clock is the time of a run. It never runs backwards.
type Clock interface {
	// Start makes the present time 0.
	Start()
	Now() units.Time
	// Wait returns at a time or a little later, or much earlier.
	Wait(until units.Time)
}

// How a real clock waits. A sleep ends some microseconds late, so the last ones are spent
// looking at the clock; what is further away than that leaves the core to others.
const (
	spinFor  = 20 * time.Microsecond
	minSleep = 10 * time.Microsecond
)

// Real is the clock of the machine. Every sleep lasts Longest at most; 0 is no bound.
type Real struct {
	Longest time.Duration
	start   time.Time
}

// Start implements Clock. The goroutine that calls it keeps its thread, which sleeps as
// exactly as the system can.
func (c *Real) Start() {
	sleepExactly()
	c.start = time.Now()
}

// Now implements Clock.
func (c *Real) Now() units.Time { return units.Time(time.Since(c.start)) * units.Nanosecond }

// Wait implements Clock.
func (c *Real) Wait(until units.Time) {
	if d := time.Duration((until-c.Now())/units.Nanosecond) - spinFor; d >= minSleep {
		if c.Longest > 0 {
			d = min(d, c.Longest)
		}
		sleep(d)
		return
	}
	for range 16 { // the caller has other things to look at, too
		if c.Now() >= until {
			return
		}
	}
}
