// Package link describes one end of a link to the schemes that run there: rate, delays, frame
// sizes and PFC settings. It also computes the headroom that a queue needs.
package link

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Port describes a port and its cable when the node is built.
type Port struct {
	Rate         units.Rate
	DelayIn      units.Time  // from the peer's last bit to this port, including the pipeline
	DelayOut     units.Time  // from this port to the peer
	MTU          units.Bytes // largest frame that arrives
	MTUOut       units.Bytes // largest frame that leaves, if larger than MTU
	MinFrame     units.Bytes // smallest frame of a lossless class
	WireOverhead units.Bytes // preamble and gap per frame
	Cell         units.Bytes
	PerPacket    units.Bytes      // bytes charged for a frame in addition to its cells
	PeerStore    *Store           // buffer cost of sent frames at the peer; nil: as at this port
	PeerGrant    units.Bytes      // bytes of each lossless class that the peer grants before traffic starts
	Pooled       bool             // headroom comes from a pool of the switch
	Lossless     packet.ClassMask // mask of lossless classes
	PFC          PFC
	Peer         *PFC   // PFC settings of the peer; nil: the same
	Host         bool   // a NIC port
	Ports        uint16 // ports of this node; 0: unknown
	PeerPorts    uint16 // ports of the peer's node; 0: unknown
	ToHost       bool   // a switch port whose peer is a NIC
	// Through is the rate of the other port of a two-port node; 0: unknown.
	Through units.Rate
	// Beyond is the round trip of the cable behind the peer, including the processing time of
	// the switch there, if the peer is a two-port switch; else 0.
	Beyond units.Time
	// Excused is the time from which a lossless drop breaks no promise, because the flow
	// control makes none or the link has begun to lose PAUSE frames. 0: never.
	Excused units.Time
	// Tick rounds frame times down to whole multiples, like simulators that count in
	// nanoseconds; 0: exact.
	Tick units.Time
	// EveryEnd makes the end of every frame an event, as in ns-3: a frame that arrives at the
	// same time, but before that event, waits for it.
	EveryEnd bool
}

// TxTime returns the serialization time of b bytes, in whole ticks of the port.
func (p *Port) TxTime(r units.Rate, b units.Bytes) units.Time { return TxTime(r, b, p.Tick) }

// TxTime returns the serialization time of b bytes, in whole ticks; see Port.Tick.
func TxTime(r units.Rate, b units.Bytes, tick units.Time) units.Time {
	if tick <= 1 {
		return r.TxTime(b)
	}
	t := r.TxTimeDown(b)
	return t - t%tick
}

// Queues returns the number of lossless classes.
func (p *Port) Queues() units.Bytes { return units.Bytes(p.Lossless.Count()) }

// PeerPFC returns the PFC settings of the peer.
func (p *Port) PeerPFC() *PFC {
	if p.Peer != nil {
		return p.Peer
	}
	return &p.PFC
}

// Store is how a buffer charges for frames.
type Store struct {
	Cell      units.Bytes
	PerPacket units.Bytes // added to the cells of a frame
}

// Cost returns the buffer bytes charged for a frame.
func (s Store) Cost(b units.Bytes) units.Bytes {
	if s.Cell > 1 {
		b = (b + s.Cell - 1) / s.Cell * s.Cell
	}
	return b + s.PerPacket
}

// Store returns how this end charges for arriving frames.
func (p *Port) Store() Store { return Store{p.Cell, p.PerPacket} }

// StoreOfPeer returns how the peer charges for frames sent from here.
func (p *Port) StoreOfPeer() Store {
	if p.PeerStore != nil {
		return *p.PeerStore
	}
	return p.Store()
}

// PFC has the IEEE 802.1Qbb settings of a port.
type PFC struct {
	Quanta     uint16     // pause time in sent frames
	Indefinite bool       // a sent pause lasts until a RESUME, as in the on/off model of papers
	Processing units.Time // from the arrival of a PFC frame to its effect
	Ordered    bool       // every change is sent, in order (Roundabout); see Port.PauseFrames
	Size       uint16     // size of sent frames; 0: the standard size
}
