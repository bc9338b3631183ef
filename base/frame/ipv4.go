package frame

import (
	"encoding/binary"

	"github.com/xoff-net/xoff/base/packet"
)

// IPv4 without options.
const (
	ipLen      = 20
	ipTTL      = 64 // the simulator does not model the TTL
	ipDF       = 0x4000
	ipMore     = 0x2000
	ipOffset   = 0x1fff
	protoTCP   = 6
	protoUDP   = 17
	dscpShift  = 5 // class n has the DSCP of class selector n
	notECT     = 0
	ect0       = 2
	ce         = 3
	hostPrefix = 10 << 24
)

// HostIP returns the address of a host: 10.0.0.1 for node 0, and so on.
func HostIP(node uint32) [4]byte {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], hostPrefix+node+1)
	return a
}

// hostOf returns the node of an address from HostIP, and false for any other address.
func hostOf(b []byte) (uint32, bool) {
	n := binary.BigEndian.Uint32(b) - hostPrefix - 1
	return n, n < packet.MaxHosts
}

// codepoint returns the ECN codepoint of a packet: data can be marked, replies cannot.
func codepoint(p *packet.Packet) byte {
	switch {
	case p.Kind() != packet.Data:
		return notECT
	case p.Flags&packet.CE != 0:
		return ce
	}
	return ect0
}

// appendIPv4 appends a header; endIPv4 completes it.
func appendIPv4(b []byte, p *packet.Packet, proto byte, m *Message) []byte {
	src, dst := HostIP(m.Src), HostIP(m.Dst)
	if p.Kind() != packet.Data {
		src, dst = dst, src
	}
	b = append(b, 0x45, p.Class()<<dscpShift|codepoint(p), 0, 0, 0, 0, ipDF>>8, 0, ipTTL, proto, 0, 0)
	return append(append(b, src[:]...), dst[:]...)
}

// endIPv4 sets length and checksum of the header at b[at:]. The rest of b belongs to the packet,
// and more bytes are appended later.
func endIPv4(b []byte, at, more int) {
	binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at+more))
	binary.BigEndian.PutUint16(b[at+10:], ^fold(sum(0, b[at:at+ipLen])))
}

// sum adds bytes to an Internet checksum.
func sum(s uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

// pseudo returns the checksum of the pseudo-header: addresses, protocol and length.
func pseudo(ip []byte, proto byte, length int) uint32 {
	return sum(uint32(proto)+uint32(length), ip[12:20])
}

func (f *Frame) ipv4(b []byte) error {
	if len(b) < ipLen {
		return ErrShort
	}
	if b[0]>>4 != 4 {
		return ErrInvalid
	}
	if b[0] != 0x45 {
		return ErrForeign // options
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total < ipLen || total > len(b) {
		return ErrShort
	}
	if binary.BigEndian.Uint16(b[6:])&(ipMore|ipOffset) != 0 {
		return ErrForeign // a fragment
	}
	if fold(sum(0, b[:ipLen])) != 0xffff {
		return ErrChecksum
	}
	var srcOK, dstOK bool
	f.Src, srcOK = hostOf(b[12:])
	f.Dst, dstOK = hostOf(b[16:])
	if !srcOK || !dstOK {
		return ErrForeign
	}
	f.Packet.To = f.Dst
	b = b[:total]
	switch b[9] {
	case protoUDP:
		return f.roce(b)
	case protoTCP:
		return f.tcp(b)
	}
	return ErrForeign
}
