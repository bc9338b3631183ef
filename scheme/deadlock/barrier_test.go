package deadlock

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// full is a switch whose shared segment has no room; frames are stored in the reserve.
type full struct {
	Switch
	ledger   *mmu.Ledger
	headroom units.Bytes
}

func (f *full) View() mmu.View                             { return f.ledger.View() }
func (f *full) Headroom(int) units.Bytes                   { return f.headroom }
func (f *full) SetAside(b units.Bytes, s mmu.Segment) bool { return f.ledger.SetAside(b, s) }
func (f *full) InsertHead(_ units.Time, _, _ int, p *packet.Packet) bool {
	return f.ledger.Reserved() >= units.Bytes(p.Size)
}

// If the shared segment is full, the barrier, 64 B, is stored in the unused headroom of the
// queue. With less than that there is no round.
func TestBarrierWithoutSharedBuffer(t *testing.T) {
	for _, c := range []struct {
		headroom, took units.Bytes
		ok             bool
	}{{1000, 64, true}, {64, 64, true}, {63, 0, false}} {
		s := &full{ledger: mmu.NewLedger(mmu.Spec{Ports: 1, Size: 10000}), headroom: c.headroom}
		h := roundabout{s: s, lossless: 1 << 3, off: []packet.ClassMask{1 << 3}}
		h.round.class = 3
		took, ok := h.insert(0, &packet.Packet{Size: barrierSize})
		if took != c.took || ok != c.ok {
			t.Errorf("headroom of %d B: took %d B, %t; want %d B, %t", c.headroom, took, ok, c.took, c.ok)
		}
	}
}
