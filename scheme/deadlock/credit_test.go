package deadlock

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// gates is a switch of one port of which a handler sees pauses and sets gates.
type gates struct {
	Switch
	view   mmu.View
	paused uint8
	gate   Gate
	budget units.Bytes
}

func (g *gates) View() mmu.View           { return g.view }
func (g *gates) Ports() int               { return 1 }
func (g *gates) BlockedClasses(int) uint8 { return g.paused }
func (g *gates) SetGate(_ units.Time, _ int, _ uint8, gate Gate, b units.Bytes) {
	g.gate, g.budget = gate, b
}

// A credit is for the pause during which it comes. One that were left over would let frames
// through the next pause, for which nobody has room.
func TestCreditEndsWithItsPause(t *testing.T) {
	var kinds [mmu.Classes]mmu.Kind
	kinds[3] = mmu.Lossless
	g := &gates{view: mmu.NewLedger(mmu.Spec{Ports: 1, Kinds: kinds}).View()}
	c := newCredits(g)
	grant := func() { c.take(0, 0, packet.Ext{creditWord | 3<<32 | 5000}) }
	change := func(to uint8) {
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
