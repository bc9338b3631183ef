// Package frame turns packets into the frames that a wire would carry, and back: PFC,
// RoCEv2, TCP, and frames of our own for what no standard has a frame for. It is pure:
// captures are made of it, and so can be the wires of a live switch.
//
// Decoding trusts nothing: a frame that is truncated, damaged or foreign is an error.
// docs/see.md has the layouts that are ours.
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

// PortMAC is the address of a port: locally administered, then node and port.
func PortMAC(node, port uint16) MAC {
	return MAC{0x02, 0, byte(node >> 8), byte(node), byte(port >> 8), byte(port)}
}

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// Group addresses that no bridge forwards.
var (
	pfcGroup     = MAC{0x01, 0x80, 0xc2, 0, 0, 0x01}
	nearestGroup = MAC{0x01, 0x80, 0xc2, 0, 0, 0x0e}
)

// Sizes of headers, and types of frames.
const (
	ethernetLen = 14
	minLen      = 60 // of a frame without its check sequence
	FCSLen      = 4

	typeIPv4 = 0x0800
	typeMAC  = 0x8808
	typeOwn  = 0x88b5 // IEEE local experimental 1
)

// Message is what a frame shows of the flow that it belongs to.
type Message struct {
	Src, Dst  uint16      // hosts
	Size      units.Bytes // payload of the flow
	Payload   units.Bytes // of a full packet
	Header    units.Bytes // simulated, of a data packet
	TCP       bool
	Selective bool // the extension of an ACK begins with what the receiver holds
}

// packets returns the number of packets of the message.
func (m *Message) packets() uint32 {
	return uint32((m.Size + m.Payload - 1) / max(1, m.Payload))
}

// payload returns the bytes of a data packet, as far as there is room for them: real
// headers can be longer than the simulated ones.
func (m *Message) payload(p *packet.Packet, room int) int {
	return max(0, min(int(p.Size)-int(m.Header), room))
}

// upTo returns the bytes of the packets before one.
func (m *Message) upTo(seq uint32) units.Bytes { return min(m.Size, units.Bytes(seq)*m.Payload) }

// Append appends the frame of a packet, without its check sequence. Its headers are real
// ones and its payload is as long as the simulated one, so that the frame can be longer
// or shorter than was simulated. The message may be nil for control frames of a link.
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
	if p.Control() || p.Kind() == packet.Barrier { // whose size is all that they are
		want = max(want, int(p.Size)-FCSLen)
	}
	return pad(b, start+want)
}

func appendEthernet(b []byte, from, to MAC, kind uint16) []byte {
	return binary.BigEndian.AppendUint16(append(append(b, to[:]...), from[:]...), kind)
}

// zeros are what payload and padding consist of.
var zeros [1 << 16]byte

func pad(b []byte, to int) []byte {
	if n := to - len(b); n > 0 {
		b = append(b, zeros[:min(n, len(zeros))]...)
	}
	return b
}

// AppendFCS appends the check sequence of a frame.
func AppendFCS(b []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

// Frame is a frame that was decoded. What no header carries is missing, unless the frame has
// a trailer: the depth of pauses, all flags but CE, AckNow, Extended and Telemetry, and of
// the numbers of RoCE all but the lowest 24 bits.
type Frame struct {
	From, To MAC
	Packet   packet.Packet
	Ext      packet.Ext
	Src, Dst uint16 // hosts, of data and replies
	Payload  int    // bytes of a data packet
	Message  uint32 // RoCE, first packet: bytes of the message
	Last     bool   // RoCE: last packet of its message
	TCP      *Segment
	Times    [mmu.Classes]uint16 // PFC: the time of each class
	Trailed  bool                // there was a trailer, so nothing is missing but what flows know: hashes, who is pinned
	Hello    bool                // it is no packet but a hello, whose words Ext has
	Due      uint64              // when it is due, by its trailer; 0: it does not say

	segment Segment
}

// Errors of frames that cannot be read.
var (
	ErrShort    = errors.New("frame: shorter than its headers say")
	ErrLong     = errors.New("frame: longer than any frame")
	ErrForeign  = errors.New("frame: not one of ours")
	ErrChecksum = errors.New("frame: wrong checksum")
	ErrInvalid  = errors.New("frame: a field has a value that is not allowed")
)

// maxLen bounds frames: the size of a packet has 16 bits.
const (
	maxLen = 1<<16 - 1 - FCSLen
	maxIP  = maxLen - ethernetLen
)

// Decode reads a frame without its check sequence. What the frame says stays valid until
// the next call; it does not refer to b.
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
