// Package frame encodes packets as wire frames and decodes them, for packet captures and live
// switches: PFC, RoCEv2, TCP, and a format of xoff where no standard exists. It has no side effects.
//
// Decoding trusts no input: a truncated, damaged or foreign frame is an error. docs/see.md
// describes the format of xoff.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// MAC is an Ethernet address.
type MAC [6]byte

// PortMAC returns the address of a port: locally administered, then node and port.
func PortMAC(node uint32, port uint16) MAC {
	return MAC{0x02, byte(node >> 16), byte(node >> 8), byte(node), byte(port >> 8), byte(port)}
}

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// Group addresses that no bridge forwards.
var (
	pfcGroup     = MAC{0x01, 0x80, 0xc2, 0, 0, 0x01}
	nearestGroup = MAC{0x01, 0x80, 0xc2, 0, 0, 0x0e}
)

// Header sizes and Ethernet types.
const (
	ethernetLen = 14
	minLen      = 60 // of a frame without its FCS
	FCSLen      = 4

	typeIPv4 = 0x0800
	typeMAC  = 0x8808
	typeOwn  = 0x88b5 // IEEE local experimental 1
)

// Message describes the flow that a frame belongs to.
type Message struct {
	Src, Dst  uint32      // hosts
	Size      units.Bytes // payload of the flow
	Payload   units.Bytes // of a full packet
	Header    units.Bytes // simulated header of a data packet
	TCP       bool
	Selective bool // the extension of an ACK begins with selective ACK blocks
}

// packets returns the number of packets in the message.
func (m *Message) packets() uint32 {
	return uint32((m.Size + m.Payload - 1) / max(1, m.Payload))
}

// payload returns the payload bytes of a data packet, at most room: real headers can be
// longer than the simulated ones.
func (m *Message) payload(p *packet.Packet, room int) int {
	return max(0, min(int(p.Size)-int(m.Header), room))
}

// upTo returns the payload bytes of the packets before seq.
func (m *Message) upTo(seq uint32) units.Bytes { return min(m.Size, units.Bytes(seq)*m.Payload) }

// Append appends the frame of a packet, without its FCS. Its headers are real and its
// payload has the simulated length, so the frame can be longer or shorter than simulated.
// The message may be nil for link-local frames.
func Append(b []byte, from, to MAC, p *packet.Packet, ext packet.Ext, m *Message) []byte {
	start := len(b)
	switch k := p.Kind(); {
	case k == packet.PFC:
		b = appendPFC(appendEthernet(b, from, pfcGroup, typeMAC), p, ext)
	case k == packet.Barrier:
		b = appendBarrier(appendEthernet(b, from, to, typeOwn), p)
	case k == packet.Foreign:
		b = appendForeign(b, p, ext)
	case p.Control():
		b = appendOwn(appendEthernet(b, from, nearestGroup, typeOwn), p, ext)
	case isTCP(k, m):
		b = appendTCP(appendEthernet(b, from, to, typeIPv4), p, ext, m)
	default:
		b = appendRoCE(appendEthernet(b, from, to, typeIPv4), p, ext, m)
	}
	want := minLen
	if p.Control() || p.Kind() == packet.Barrier { // these have no payload
		want = max(want, int(p.Size)-FCSLen)
	}
	return pad(b, start+want)
}

func appendEthernet(b []byte, from, to MAC, kind uint16) []byte {
	return binary.BigEndian.AppendUint16(append(append(b, to[:]...), from[:]...), kind)
}

// zeros is used for payload and padding.
var zeros [1 << 16]byte

func pad(b []byte, to int) []byte {
	if n := to - len(b); n > 0 {
		b = append(b, zeros[:min(n, len(zeros))]...)
	}
	return b
}

// AppendFCS appends the FCS of the frame that starts at b[start].
func AppendFCS(b []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

// Frame is a decoded frame. Fields that no header carries are missing unless the frame has a
// trailer: the depth of pauses, all flags but CE, AckNow, Extended and Telemetry, and the
// upper bits of RoCE packet numbers (only the lowest 24 are sent).
type Frame struct {
	From, To MAC
	Packet   packet.Packet
	Ext      packet.Ext
	Src, Dst uint32 // hosts of data and replies
	Payload  int    // payload bytes of a data packet
	Message  uint32 // RoCE, first packet: message size in bytes
	Last     bool   // RoCE: last packet of its message
	TCP      *Segment
	Times    [mmu.Classes]uint16 // PFC: pause time of each class
	Trailed  bool                // the frame had a trailer: only per-flow data (hashes, pinned routes) is missing
	Hello    bool                // a hello, not a packet; Ext has its words
	Due      uint64              // due time from the trailer; 0: none

	segment Segment
}

// Decoding errors.
var (
	ErrShort    = errors.New("frame: shorter than its headers say")
	ErrLong     = errors.New("frame: longer than the longest frame")
	ErrForeign  = errors.New("frame: not in a format of xoff")
	ErrChecksum = errors.New("frame: wrong checksum")
	ErrInvalid  = errors.New("frame: invalid field value")
)

// maxLen is the largest frame: the size of a packet has 16 bits.
const (
	maxLen = 1<<16 - 1 - FCSLen
	maxIP  = maxLen - ethernetLen
)

// Decode decodes a frame without its FCS. The result is valid until the next call and does
// not refer to b.
func (f *Frame) Decode(b []byte) error {
	*f = Frame{Ext: f.Ext[:0], segment: Segment{Blocks: f.segment.Blocks[:0]}}
	switch {
	case len(b) > maxLen:
		return ErrLong
	case len(b) < ethernetLen:
		return ErrShort
	}
	copy(f.To[:], b)
	copy(f.From[:], b[6:])
	b, trailer := cutTrailer(b)
	if trailer != nil && trailerKind(trailer) == packet.Foreign {
		return f.foreign(b, trailer)
	}
	f.Packet.Size = uint16(len(b) + FCSLen)
	body := b[ethernetLen:]
	var err error
	switch binary.BigEndian.Uint16(b[12:]) {
	case typeMAC:
		err = f.pfc(body)
	case typeOwn:
		err = f.own(body)
	case typeIPv4:
		err = f.ipv4(body)
	default:
		err = ErrForeign
	}
	if err == nil && trailer != nil && !f.Hello {
		err = f.trailer(trailer)
	}
	if len(f.Ext) > 0 {
		f.Packet.Flags |= packet.Extended
	}
	return err
}
