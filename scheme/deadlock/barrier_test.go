package deadlock

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// full is a switch whose shared segment has no room; frames are stored in the reserve.
type full struct {
	sent int
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
// queue, or in what other queues of its class have lent to it. With less than that there is no
// round.
func TestBarrierWithoutSharedBuffer(t *testing.T) {
	for _, c := range []struct {
		headroom, lent, took units.Bytes
		by                   int // the queue to which it is lent
		ok                   bool
	}{{1000, 0, 64, 0, true}, {64, 0, 64, 0, true}, {63, 0, 0, 0, false}, {60, 4, 64, 0, true}, {60, 3, 0, 0, false}, {60, 4, 0, 1, false}} {
		s := &full{ledger: mmu.NewLedger(mmu.Spec{Ports: 2, Size: 10000}), headroom: c.headroom}
		h := roundabout{s: s, lossless: 1 << 3, off: make([]packet.ClassMask, 2), queues: make([]raQueue, 2*mmu.Classes)}
		h.off[0], h.round.class = 1<<3, 3
		h.at(1, 3).borrow = raBorrow{on: true, by: c.by, headroom: c.lent}
		h.at(1, 2).borrow = raBorrow{on: true, headroom: 64} // another class
		took, ok := h.insert(0, &packet.Packet{Size: barrierSize})
		if took != c.took || ok != c.ok {
			t.Errorf("headroom of %d B, %d B lent to %d: took %d B, %t; want %d B, %t", c.headroom, c.lent, c.by, took, ok, c.took, c.ok)
		}
	}
}

func (f *full) Send(units.Time, int, *packet.Packet, packet.Ext) { f.sent++ }

// Here 1,000 B of the shared segment are kept for replies, so credit uses only what is free
// beyond that. A loop without credit for its longest frame may use more, up to one such frame.
// The first credit invites the upstream to the round, so it is sent even if it is 0.
func TestCreditWithLittleRoom(t *testing.T) {
	for _, c := range []struct {
		free          units.Bytes
		left, granted uint64 // credit before, new credit
		invited       bool
		sent          int
	}{
		{5000, 1500, 4000, true, 1}, {1300, 1500, 300, true, 1}, {900, 1500, 0, true, 0}, {900, 1499, 900, true, 1},
		{5000, 1499, 1500, true, 1}, {5000, 0, 1500, true, 1}, {0, 0, 0, true, 0}, {0, 0, 0, false, 1},
	} {
		s := &full{ledger: mmu.NewLedger(mmu.Spec{Ports: 2, Size: 16000, Shared: 16000})}
		s.SetAside(16000-c.free, mmu.Shared)
		h := roundabout{s: s, frame: 1500}
		h.round = raRound{on: true, invited: c.invited, longest: 1500, floor: 1000, owed: 4000, granted: c.left, announced: c.left}
		h.grant(0)
		if got := h.round.granted - c.left; got != c.granted || s.sent != c.sent {
			t.Errorf("%d B free, credit for %d B, invited %t: %d B more in %d frames, want %d B in %d", c.free, c.left, c.invited, got, s.sent, c.granted, c.sent)
		}
	}
}
