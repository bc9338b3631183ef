// Package link describes one end of a link: rate, delays, frames and how it speaks
// PFC, and how much headroom a queue needs there.
package link

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Port is what is known about a port and its cable when it is built.
type Port struct {
	Rate         units.Rate
	DelayIn      units.Time  // from the peer's last bit to here, pipeline included
	DelayOut     units.Time  // from here to the peer
	MTU          units.Bytes // largest frame that arrives
	MTUOut       units.Bytes // largest frame that leaves, if larger than MTU
	MinFrame     units.Bytes // smallest frame of a lossless class
	WireOverhead units.Bytes // preamble and gap, per frame
	Cell         units.Bytes
	PerPacket    units.Bytes      // what a frame costs in the buffer beside its cells
	PeerStore    *Store           // what frames that leave cost in the buffer of the other end; nil: as here
	Pooled       bool             // headroom comes out of a pool of the switch
	Lossless     packet.ClassMask // mask of lossless classes
	PFC          PFC
	Peer         *PFC   // how the other end speaks PFC; nil: alike
	Host         bool   // a NIC port
	Ports        uint16 // of the node that it belongs to; 0: not known
	PeerPorts    uint16 // of the node at the other end; 0: not known
	ToHost       bool   // a switch port, and the peer is a NIC
	// Through is the rate of the other port, at a node of two; 0: not known.
	Through units.Rate
	// Beyond is the round trip of the cable behind the peer, with the time that the switch
	// there takes to act, if the peer is a switch of two ports; else 0.
	Beyond units.Time
	// Excused is the time from which a dropped lossless frame breaks no promise:
	// the scheme makes none, or the link has begun to lose what tells the peer to
	// stop. 0: never.
	Excused units.Time
	// Tick cuts the times that frames take to whole multiples, as simulators do that
	// count in nanoseconds; 0: exact.
	Tick units.Time
	// EveryEnd makes the end of every frame an event, as in ns-3: a frame that
	// arrives at that very moment, but before that event, waits for it.
	EveryEnd bool
}

// TxTime is how long bytes take at a rate, in whole ticks of the port.
func (p *Port) TxTime(r units.Rate, b units.Bytes) units.Time { return TxTime(r, b, p.Tick) }

// TxTime is how long bytes take at a rate, in whole ticks; see Port.Tick.
func TxTime(r units.Rate, b units.Bytes, tick units.Time) units.Time {
	if tick <= 1 {
		return r.TxTime(b)
	}
	t := r.TxTimeDown(b)
	return t - t%tick
}

// Queues returns the number of lossless classes.
func (p *Port) Queues() units.Bytes { return units.Bytes(p.Lossless.Count()) }

// PeerPFC returns how the other end speaks PFC.
func (p *Port) PeerPFC() *PFC {
	if p.Peer != nil {
		return p.Peer
	}
	return &p.PFC
}

// Store is what frames cost in a buffer.
type Store struct {
	Cell      units.Bytes
	PerPacket units.Bytes // beside its cells
}

// Cost is what one frame takes.
func (s Store) Cost(b units.Bytes) units.Bytes {
	if s.Cell > 1 {
		b = (b + s.Cell - 1) / s.Cell * s.Cell
	}
	return b + s.PerPacket
}

// Store returns what frames cost that arrive here.
func (p *Port) Store() Store { return Store{p.Cell, p.PerPacket} }

// StoreOfPeer returns what frames cost that leave from here.
func (p *Port) StoreOfPeer() Store {
	if p.PeerStore != nil {
		return *p.PeerStore
	}
	return p.Store()
}

// PFC is how a port speaks IEEE 802.1Qbb.
type PFC struct {
	Quanta     uint16     // pause time of a frame that is sent
	Indefinite bool       // a pause that is sent holds until it is withdrawn, as in the papers' simple on/off model
	Processing units.Time // from the arrival of a frame to its effect
	Ordered    bool       // every change is sent, in order (Roundabout); see Port.PauseFrames
	Size       uint16     // of a frame that is sent; 0: as the standard says
}
