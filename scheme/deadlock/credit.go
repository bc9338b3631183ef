package deadlock

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// credits grow the buffer of a paused ingress queue without involving its policy. Bytes of the
// shared segment are set aside, and the upstream may send that many in spite of the pause. ITSY
// without loss and Deadlock Breaker use it.
type credits struct {
	s     Switch
	armed []packet.ClassMask // by ingress port: classes with bytes set aside
	open  []packet.ClassMask // by egress port: classes opened by a credit
}

func newCredits(s Switch) credits {
	return credits{s: s, armed: make([]packet.ClassMask, s.Ports()), open: make([]packet.ClassMask, s.Ports())}
}

// requireUnpartitioned rejects a partitioned buffer: bytes lent from the shared segment would
// come from one partition and be missing in all.
func requireUnpartitioned(s Switch, what string) error {
	if n := s.View().Parts(); n > 1 {
		return fmt.Errorf("%s borrows from the shared segment, which has %d partitions (expected buffer.partitions: 1, or another handler)", what, n)
	}
	return nil
}

// creditWord marks the Loop frame of a credit. It is above all other first words.
const creditWord = 1 << 63

// grow gives an ingress queue the free bytes of the shared segment, at most the given number. It
// returns the bytes given.
func (c *credits) grow(now units.Time, port int, class uint8, most units.Bytes) units.Bytes {
	b := min(most, c.s.View().SharedFree())
	if b <= 0 || !c.s.SetAside(b, mmu.Shared) {
		return 0
	}
	c.armed[port] |= 1 << class
	c.s.ArmIngress(port, c.armed[port])
	f := packet.Packet{Size: uint16(packet.PFCSize), Meta: packet.MakeMeta(packet.Loop, 0)}
	c.s.Send(now, port, &f, packet.Ext{creditWord | uint64(class)<<32 | uint64(b)})
	return b
}

// take applies a credit. It returns false if the frame is not a credit.
func (c *credits) take(now units.Time, port int, ext packet.Ext) bool {
	if len(ext) != 1 || ext[0]&creditWord == 0 {
		return false
	}
	class := uint8(ext[0]>>32) & 7
	if c.s.View().Kind(class) == mmu.Lossless && c.s.GatedClasses(port).Has(class) {
		c.s.SetGate(now, port, class, Open, units.Bytes(uint32(ext[0])))
		c.open[port] |= 1 << class
	}
	return true
}

// blocked follows a change of the classes that the peer of an egress pauses. A RESUME voids the
// rest of a credit: the peer has released the bytes it had set aside, and its next PAUSE must be
// obeyed.
func (c *credits) blocked(now units.Time, port int, to packet.ClassMask) {
	for class := range (c.open[port] &^ to).All() {
		c.open[port] &^= 1 << class
		c.s.SetGate(now, port, class, Obey, 0)
	}
}

// paused follows a change of the classes that an ingress pauses: after a RESUME no credit is
// needed.
func (c *credits) paused(port int, to packet.ClassMask) {
	if done := c.armed[port] &^ to; done != 0 {
		c.armed[port] &^= done
		c.s.ArmIngress(port, c.armed[port])
		for _, mask := range c.armed {
			if mask != 0 {
				return
			}
		}
		c.s.GiveBack(c.s.View().Reserved())
	}
}

// Arriving implements Hook: frames that arrive on credit are stored in the reserve.
func (c *credits) Arriving(units.Time, *packet.Packet, *int) Verdict { return InLoop }

// Departing implements Hook.
func (c *credits) Departing(units.Time, int, *packet.Packet) Verdict { return Normal }

// Departed implements Hook.
func (c *credits) Departed(units.Time, int, *packet.Packet) {}
