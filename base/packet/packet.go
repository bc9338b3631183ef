// Package packet defines the metadata of a frame, which hosts, switches and engines pass
// around. It has no payload bytes.
//
// A Packet is 32 bytes without pointers and is passed by value. Data that does not fit
// (telemetry records, headers of flow control) travels with it in an extension, a short
// sequence of 64-bit words (see Ext).
package packet

import "github.com/xoff-net/xoff/base/units"

// Packet is the metadata of one frame.
type Packet struct {
	At    units.Time // arrival of the last bit at the current node; set by the driver
	Flow  uint32     // index of the flow in the run's flow table
	Seq   uint32     // data: packet number; ACK and NACK: next expected packet number
	Hash  uint32     // hash of the five-tuple, input of ECMP
	Link  uint32     // while in flight: index of its extension
	To    uint32     // destination host and ingress port, see Dst and Port
	Size  uint16     // frame size in bytes, with headers, without wire overhead
	Meta  uint8      // kind and class, see Kind and Class
	Flags Flags
}

// Kind is the purpose of a frame.
type Kind uint8

// Kinds of frames. PFC and later kinds are link-local: the peer consumes them.
const (
	Data Kind = iota
	Ack
	Nack
	CNP
	Barrier  // exchanged by deadlock handlers; stored and charged like data
	Foreign  // frame of a real host on a live switch, stored and switched like data; its extension is the frame
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

// ControlKinds is the number of link-local kinds: PFC and later.
const ControlKinds = int(numKinds - PFC)

// KindNames returns the names of all kinds, indexed by Kind.
func KindNames() []string { return kindNames[:] }

// Limits of a fabric. Hosts are nodes 0 to MaxHosts-1, and switches follow them.
const (
	MaxHosts    = 1 << 17
	MaxSwitches = 1<<14 - 1
	MaxPorts    = 1 << PortBits // per node

	PortBits = 10
)

// NoNode is the destination of a frame that is not routed, such as a Barrier, which a
// deadlock handler forwards.
const NoNode uint32 = 1<<dstBits - 1

// dstBits are the bits of Packet.To for the destination: a host or NoNode. The rest is the port.
const dstBits = 18

const _, _ uint = uint(NoNode - MaxHosts), 32 - dstBits - PortBits // not negative

// Dst returns the index of the destination host, or NoNode.
func (p *Packet) Dst() uint32 { return p.To & NoNode }

// SetDst sets the destination. A new packet, without a port, can assign To instead.
func (p *Packet) SetDst(dst uint32) { p.To = p.To&^NoNode | dst }

// Port returns the ingress port at the current node. The driver sets it.
func (p *Packet) Port() int { return int(p.To >> dstBits) }

// SetPort sets the ingress port.
func (p *Packet) SetPort(port int) { p.Enter(IngressOf(port)) }

// Ingress is an ingress port in the form that a packet stores.
type Ingress uint32

// IngressOf returns the stored form of a port.
func IngressOf(port int) Ingress { return Ingress(port) << dstBits }

// Enter sets the ingress port.
func (p *Packet) Enter(in Ingress) { p.To = p.To&NoNode | uint32(in) }

// OfFlow reports whether the frame belongs to a flow of the run.
func (p *Packet) OfFlow() bool { return p.Kind() < Barrier }

// Flags are single-bit properties of a packet.
type Flags uint8

// Flags of a packet.
const (
	CE          Flags = 1 << iota // congestion experienced; on an ACK: echoed
	Extended                      // the packet has an extension
	Unscheduled                   // within the first bytes of its flow (hosts.unscheduled)
	Marked                        // ToS bit for deadlock schemes
	Retransmit                    // retransmission
	Pinned                        // the flow has its own routes
	AckNow                        // the sender waits for the ACK of this packet
	Telemetry                     // switches append records to the extension of this packet
)

// MakeMeta packs a kind and a class.
func MakeMeta(k Kind, class uint8) uint8 { return uint8(k)<<3 | class&7 }

// Kind returns the purpose of the frame.
func (p *Packet) Kind() Kind { return Kind(p.Meta >> 3) }

// Class returns the traffic class, 0..7.
func (p *Packet) Class() uint8 { return p.Meta & 7 }

// Control reports whether the frame is link-local. Such frames have strict priority, are never
// paused and are never stored in the buffer of a switch.
func (p *Packet) Control() bool { return p.Meta >= uint8(PFC)<<3 }

// PFCSize is the size of an IEEE 802.1Qbb frame.
const PFCSize units.Bytes = 64

// A PFC frame carries a class-enable vector and a pause time per class. A Packet stores at
// most one non-zero time: classes in the pause mask get it, the other enabled classes get
// zero, which is a RESUME. A scheme that needs two pause times sends two frames.

// SetPFC turns p into a PFC frame.
func (p *Packet) SetPFC(enable, pause ClassMask, quanta uint16) {
	*p = Packet{Size: uint16(PFCSize), Meta: MakeMeta(PFC, 0), Seq: uint32(quanta), Hash: uint32(enable)<<8 | uint32(pause&enable)}
}

// PFC returns the class-enable vector, the classes to pause, and the pause time in quanta.
func (p *Packet) PFC() (enable, pause ClassMask, quanta uint16) {
	return ClassMask(p.Hash >> 8), ClassMask(p.Hash), uint16(p.Seq)
}

// Simulated PFC frames also carry, per class, the depth of the chain of pauses that caused
// them. It is a measurement: no switch acts on it and real frames do not have it. It is
// stored in packet fields that PFC does not use, six bits per class.

// MaxPauseDepth is the largest depth that can be stored; deeper pauses are capped.
const MaxPauseDepth = 1<<depthBits - 1

const depthBits = 6

// SetPauseDepth stores the pause depth of a class.
func (p *Packet) SetPauseDepth(class uint8, depth int) {
	all := uint64(p.Dst())<<32 | uint64(p.Flow)
	at := depthBits * (class & 7)
	all = all&^(MaxPauseDepth<<at) | uint64(min(depth, MaxPauseDepth))<<at
	p.SetDst(uint32(all >> 32))
	p.Flow = uint32(all)
}

// PauseDepth returns the pause depth of a class.
func (p *Packet) PauseDepth(class uint8) int {
	all := uint64(p.Dst())<<32 | uint64(p.Flow)
	return int(all >> (depthBits * (class & 7)) & MaxPauseDepth)
}

// QuantumBits is the length of a pause quantum in bit times of the port.
const QuantumBits = 512

// Quanta returns the duration of n pause quanta on a port of rate r.
func Quanta(n uint16, r units.Rate) units.Time {
	return r.TxTime(units.Bytes(n) * QuantumBits / 8)
}

// Ext is the extension of a packet. The words belong to the node that stores the packet;
// callees must copy what they keep.
type Ext []uint64

// ExtWords is the initial capacity of an extension: five records of two words and a
// selective ACK. Few fabrics need more.
const ExtWords = 14
