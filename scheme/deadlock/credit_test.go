package deadlock

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// gates is a switch with pauses, gates and one timer.
type gates struct {
	Switch
	view   mmu.View
	paused packet.ClassMask
	gate   Gate
	budget units.Bytes
	wake   units.Time
}

func (g *gates) View() mmu.View { return g.view }
func (g *gates) Ports() int     { return 2 }
func (g *gates) NewTimer() int  { return 1 }
func (g *gates) WakeAt(timer int, at units.Time) {
	if timer == 0 {
		g.wake = at
	}
}
func (g *gates) GatedClasses(int) packet.ClassMask { return g.paused }
func (g *gates) SetGate(_ units.Time, _ int, _ uint8, gate Gate, b units.Bytes) {
	g.gate, g.budget = gate, b
}

// A credit is valid for one pause only. A leftover credit would let frames through the next
// pause, for which there is no room.
func TestCreditEndsWithItsPause(t *testing.T) {
	var kinds [mmu.Classes]mmu.Kind
	kinds[3] = mmu.Lossless
	g := &gates{view: mmu.NewLedger(mmu.Spec{Ports: 1, Kinds: kinds}).View()}
	c := newCredits(g)
	grant := func() { c.take(0, 0, packet.Ext{creditWord | 3<<32 | 5000}) }
	change := func(to packet.ClassMask) {
		g.paused = to
		c.blocked(0, 0, to)
	}
	for _, step := range []struct {
		name string
		do   func()
		want Gate
	}{
		{"credit without a pause", grant, Obey},
		{"pause", func() { change(1 << 3) }, Obey},
		{"credit", grant, Open},
		{"pause of another class", func() { change(1<<3 | 1<<4) }, Open},
		{"resume", func() { change(1 << 4) }, Obey},
		{"next pause", func() { change(1<<3 | 1<<4) }, Obey},
	} {
		step.do()
		if g.gate != step.want {
			t.Errorf("%s: gate %d, want %d", step.name, g.gate, step.want)
		}
	}
}

// With a period of 100 us and a latency of 10 us, the first period ends at 100 us and is polled
// at 110 us. A port that is paused at 105 us must not postpone that to 210 us: frequent pauses
// would then prevent all polls. A latency of a whole period skips no poll.
func TestBreakerLooksEachPeriod(t *testing.T) {
	const us = units.Microsecond
	for latency, want := range map[units.Time][3]units.Time{10 * us: {110 * us, 210 * us, 310 * us}, 100 * us: {200 * us, 300 * us, 400 * us}} {
		g := &gates{view: mmu.NewLedger(mmu.Spec{Ports: 2}).View()}
		h, err := newBreaker(false)(&BreakerParams{Period: 100 * us, Latency: latency}, g)
		if err != nil {
			t.Fatal(err)
		}
		h.Gated(20*us, 0, 0, 1<<3)
		h.Gated(105*us, 1, 0, 1<<3)
		for _, at := range want {
			if g.wake != at {
				t.Errorf("latency %s: polls at %s, want %s", latency, g.wake, at)
			}
			h.Wake(at, 0)
		}
	}
}
