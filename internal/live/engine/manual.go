package engine

import "github.com/xoff-net/xoff/base/units"

// Manual is a clock for tests. Wait returns at once, at the requested time plus Late. Without
// Late, a run has the results of the simulator.
type Manual struct {
	Late func() units.Time // lateness of a wait; nil: 0
	now  units.Time
}

// Start implements Clock.
func (m *Manual) Start() { m.now = 0 }

// Now implements Clock.
func (m *Manual) Now() units.Time { return m.now }

// Wait implements Clock.
func (m *Manual) Wait(until units.Time) {
	m.now = max(m.now, until)
	if m.Late != nil {
		m.now += m.Late()
	}
}
