// Package packet defines the metadata of a frame: what switches and NICs look
// at, never payload bytes.
//
// A Packet is 32 bytes without pointers and travels by value. What does not fit
// (telemetry records, headers of control schemes) travels beside it as an
// extension, a short run of 64-bit words (see Ext).
package packet

import "github.com/xoff-net/xoff/base/units"

// Packet is the metadata of one frame.
type Packet struct {
	At    units.Time // when its last bit reached the node that holds it; set by the driver
	Flow  uint32     // index of the flow in the run's flow table
	Seq   uint32     // data: packet number; ACK and NACK: next packet number expected
	Hash  uint32     // entropy of the five-tuple, input of ECMP
	Link  uint32     // of a packet on a wire: place of its extension
	Dst   uint16     // node number of the destination host
	Size  uint16     // bytes of the frame, headers included, wire overhead excluded
	Port  uint16     // port by which it entered the node that holds it
	Meta  uint8      // kind and class, see Kind and Class
	Flags Flags
}

// Kind says what a frame is for.
type Kind uint8

// Kinds of frames. From PFC on they are link-local: the peer consumes them.
const (
	Data Kind = iota
	Ack
	Nack
	CNP
	Barrier  // stored and charged like data; deadlock handlers exchange it, nobody else looks at it
	Foreign  // a frame of a real host on a live switch: stored, charged and switched like data; its extension is the frame
	PFC      // IEEE 802.1Qbb pause or resume, to the peer's gate
	Feedback // flow control, from a receiver to the peer's gate
	Request  // flow control, from a gate to the peer's receiver
	Loop     // deadlock handling, to the peer's handler
	numKinds
)

var kindNames = [numKinds]string{"data", "ack", "nack", "cnp", "barrier", "foreign", "pfc", "feedback", "request", "loop"}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "unknown"
}

// ControlKinds is the number of link-local kinds: PFC and those after it.
const ControlKinds = int(numKinds - PFC)

// KindNames lists the names of all kinds, by number.
func KindNames() []string { return kindNames[:] }

// NoNode is the destination of a frame that no router knows: a Barrier goes where a
// deadlock handler leads it, or nowhere.
const NoNode uint16 = 1<<16 - 1

// OfFlow reports whether a frame belongs to a flow of the run.
func (p *Packet) OfFlow() bool { return p.Kind() < Barrier }

// Flags are single-bit marks of a packet.
type Flags uint8

// Marks of a packet.
const (
	CE          Flags = 1 << iota // congestion experienced; on an ACK: echoed
	Extended                      // an extension travels beside the packet
	Unscheduled                   // sent within the first bandwidth-delay product of its flow
	Marked                        // ToS bit that deadlock schemes may use
	Retransmit                    // sent before
	Pinned                        // the flow has its own routes
	AckNow                        // the sender waits for the ACK of this packet
	Telemetry                     // switches append records to the extension of this packet
)

// MakeMeta packs a kind and a class.
func MakeMeta(k Kind, class uint8) uint8 { return uint8(k)<<3 | class&7 }

// Kind returns what the frame is for.
func (p *Packet) Kind() Kind { return Kind(p.Meta >> 3) }

// Class returns the traffic class, 0..7.
func (p *Packet) Class() uint8 { return p.Meta & 7 }

// Control reports whether the frame is link-local: such frames go before everything else,
// are never paused and never stored in the buffer of a switch.
func (p *Packet) Control() bool { return p.Meta >= uint8(PFC)<<3 }

// PFCSize is the size of an IEEE 802.1Qbb frame.
const PFCSize units.Bytes = 64

// A PFC frame carries a class-enable vector and a pause time per class. Every
// frame here has one non-zero time at most: classes in the pause mask get it,
// other enabled classes get zero, which is a RESUME. A scheme that wants two
// different times sends two frames, as the enable vector allows.

// SetPFC makes p a PFC frame.
func (p *Packet) SetPFC(enable, pause ClassMask, quanta uint16) {
	*p = Packet{Size: uint16(PFCSize), Meta: MakeMeta(PFC, 0), Seq: uint32(quanta), Hash: uint32(enable)<<8 | uint32(pause&enable)}
}

// PFC returns the class-enable vector, the classes among them that are to
// pause, and their time in quanta.
func (p *Packet) PFC() (enable, pause ClassMask, quanta uint16) {
	return ClassMask(p.Hash >> 8), ClassMask(p.Hash), uint16(p.Seq)
}

// A PFC frame of the simulator also says how deep the chain of pauses is that led
// to it, per class: a measure, which no switch decides by and no real frame has.
// It takes the fields of a packet that PFC does not use, six bits per class.

// MaxPauseDepth is the deepest pause that is told from deeper ones.
const MaxPauseDepth = 1<<depthBits - 1

const depthBits = 6

// SetPauseDepth notes the depth of the pause of a class.
func (p *Packet) SetPauseDepth(class uint8, depth int) {
	all := uint64(p.Dst)<<32 | uint64(p.Flow)
	at := depthBits * (class & 7)
	all = all&^(MaxPauseDepth<<at) | uint64(min(depth, MaxPauseDepth))<<at
	p.Dst, p.Flow = uint16(all>>32), uint32(all)
}

// PauseDepth returns the depth of the pause of a class.
func (p *Packet) PauseDepth(class uint8) int {
	all := uint64(p.Dst)<<32 | uint64(p.Flow)
	return int(all >> (depthBits * (class & 7)) & MaxPauseDepth)
}

// QuantumBits is the length of a pause quantum in bit times of the port.
const QuantumBits = 512

// Quanta returns how long n pause quanta last on a port of rate r.
func Quanta(n uint16, r units.Rate) units.Time {
	return r.TxTime(units.Bytes(n) * QuantumBits / 8)
}

// Ext is an extension: words that travel beside a packet. Whoever is handed one
// must copy what it keeps; the words belong to the node that holds the packet.
type Ext []uint64

// ExtWords is the room that is made for an extension at first: five records of two
// words and a selective ACK. Few fabrics need more.
const ExtWords = 14
