package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/internal/sys/prefetch"
)

// fifo is an egress queue: packets linked by index in the switch's memory.
type fifo struct {
	head, tail uint32
}

// memory stores the packets of a switch. Slot 0 means none.
type memory struct {
	packets []packet.Packet
	next    []uint32 // by slot: next packet of its queue, or next free slot; separate because packets are rarely cached
	free    uint32
	ext     []packet.Ext // by slot; grows only when extensions are stored
	slabs   []packet.Ext // storage of extensions, slabSlots slots each
}

// store stores a packet with its extension and returns the slot.
func (m *memory) store(p *packet.Packet, ext packet.Ext) uint32 {
	slot := m.put(p)
	if p.Flags&(packet.Extended|packet.Telemetry) != 0 {
		m.keepExt(slot, ext)
	}
	return slot
}

// put stores a packet without its extension.
func (m *memory) put(p *packet.Packet) uint32 {
	slot := m.free
	if slot == 0 {
		slot = m.grow()
	}
	q := &m.packets[slot]
	m.free, m.next[slot] = m.next[slot], 0
	*q = *p
	return slot
}

// grow adds a slot. Rarely used code is kept out of the functions that handle every frame, here
// and elsewhere, so that those stay in the instruction cache.
//
//go:noinline
func (m *memory) grow() uint32 {
	m.packets, m.next = append(m.packets, packet.Packet{}), append(m.next, 0)
	return uint32(len(m.packets) - 1)
}

// slabSlots must be a power of two.
const slabSlots = 256

// keepExt stores the extension of a packet that may have one.
//
//go:noinline
func (m *memory) keepExt(slot uint32, ext packet.Ext) {
	for uint32(len(m.ext)) <= slot {
		at := len(m.ext) % slabSlots * packet.ExtWords
		if at == 0 {
			m.slabs = append(m.slabs, make(packet.Ext, slabSlots*packet.ExtWords))
		}
		room := m.slabs[len(m.slabs)-1][at:]
		m.ext = append(m.ext, room[:0:packet.ExtWords])
	}
	m.ext[slot] = append(m.ext[slot][:0], ext...)
}

func (m *memory) extOf(p *packet.Packet, slot uint32) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	return m.ext[slot]
}

// prefetch loads a packet that has become the head of its queue into the cache.
func (m *memory) prefetch(slot uint32) {
	prefetch.Both(&m.packets[slot], &m.next[slot])
	if slot < uint32(len(m.ext)) {
		prefetch.Both(&m.ext[slot], &m.slabs[slot/slabSlots][slot%slabSlots*packet.ExtWords])
	}
}

// recycle frees a slot.
func (m *memory) recycle(slot uint32) {
	m.next[slot] = m.free
	m.free = slot
}
