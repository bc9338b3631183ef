package engine

import "github.com/xoff-net/xoff/base/units"

// Manual is a clock for tests, on which whoever waits is at once where he waits for. With
// it a run is that of the simulator, unless Late makes it another.
type Manual struct {
	Late func() units.Time // by how much a wait ends late; nil: never
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
