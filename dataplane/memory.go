package dataplane

import "github.com/xoff-net/xoff/packet"

// fifo is an egress queue: packets linked by index in the switch's memory.
type fifo struct {
	head, tail uint32
}

// memory holds the packets of a switch. Slot 0 means "none".
type memory struct {
	packets []packet.Packet
	ext     []packet.Ext // by slot; shorter than packets when unused
	slab    packet.Ext   // room for extensions that is not handed out yet
	free    uint32
}

// put stores a packet that came in by a port.
func (m *memory) put(p *packet.Packet, ext packet.Ext, in int) uint32 {
	slot := m.free
	if slot == 0 {
		m.packets = append(m.packets, packet.Packet{})
		slot = uint32(len(m.packets) - 1)
	} else {
		m.free = m.packets[slot].Link
	}
	q := &m.packets[slot]
	*q = *p
	q.Link = 0
	q.Port = uint16(in)
	if p.Flags&(packet.Extended|packet.Telemetry) != 0 {
		for uint32(len(m.ext)) <= slot {
			m.ext = append(m.ext, nil)
		}
		if m.ext[slot] == nil {
			if len(m.slab) == 0 {
				m.slab = make(packet.Ext, 256*packet.ExtWords)
			}
			m.ext[slot], m.slab = m.slab[:0:packet.ExtWords], m.slab[packet.ExtWords:]
		}
		m.ext[slot] = append(m.ext[slot][:0], ext...)
	}
	return slot
}

func (m *memory) extOf(p *packet.Packet, slot uint32) packet.Ext {
	if p.Flags&packet.Extended == 0 {
		return nil
	}
	return m.ext[slot]
}

func (m *memory) drop(slot uint32) {
	m.packets[slot].Link = m.free
	m.free = slot
}
