package frame

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/xoff-net/xoff/base/packet"
)

// Foreign frames are frames from real hosts. A switch carries them unchanged in the extension
// of a packet: the length in bytes, then the bytes, eight per word.

// maxForeign is the longest foreign frame without its FCS: a jumbo frame with two tags.
const maxForeign = 9216

// foreignBytes returns the memory of the words after the length. Words have the byte order of the
// machine: extensions stay in this process.
func foreignBytes(ext packet.Ext) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(ext[1:]))), 8*len(ext[1:]))
}

// packForeign appends a frame to an empty extension.
func packForeign(ext packet.Ext, b []byte) packet.Ext {
	words := 1 + (len(b)+7)/8
	ext = slices.Grow(ext[:0], words)[:words]
	ext[0], ext[words-1] = uint64(len(b)), 0
	copy(foreignBytes(ext), b)
	return ext
}

// unpackForeign appends the frame in an extension to b. It appends nothing if the extension is
// not a foreign frame.
func unpackForeign(b []byte, ext packet.Ext) []byte {
	if len(ext) == 0 || ext[0] > maxForeign || int(ext[0]+7)/8 != len(ext)-1 {
		return b
	}
	return append(b, foreignBytes(ext)[:ext[0]]...)
}

// ForeignSource returns the source address of the foreign frame in an extension, which has at
// least 12 bytes.
func ForeignSource(ext packet.Ext) MAC { return MAC(foreignBytes(ext)[6:12]) }

// appendForeign appends the frame of a foreign packet, ECN-marked if the packet is.
func appendForeign(b []byte, p *packet.Packet, ext packet.Ext) []byte {
	start := len(b)
	b = unpackForeign(b, ext)
	var h Headers
	if p.Flags&packet.CE != 0 && h.Read(b[start:]) == nil {
		h.setCE(b[start:])
	}
	return b
}

// foreign decodes a foreign frame that another node forwarded, using its trailer.
func (f *Frame) foreign(b, trailer []byte) error {
	words, t := trailer[:len(trailer)-trailerLen], trailer[len(trailer)-trailerLen:]
	if t[1] != 0 || t[6]&^trailerDue != 0 || len(words) != 8*int(t[6]&trailerDue) {
		return ErrInvalid
	}
	if len(words) > 0 {
		f.Due = binary.BigEndian.Uint64(words)
	}
	number := binary.BigEndian.Uint32(t[8:])
	src, dst := number&0xffff|uint32(t[2]&15)<<16, number>>16|uint32(t[2]>>4)<<16
	if src >= packet.MaxHosts || dst >= packet.MaxHosts && dst != packet.NoNode {
		return ErrInvalid
	}
	f.Trailed = true
	var h Headers
	if err := h.Read(b); err != nil {
		return err
	}
	f.Foreign(&h, b, src, dst, t[7]&7)
	return nil
}

// Foreign makes a packet from a foreign frame of host src to host dst with headers h. Frames that
// may not be marked, or are already marked, get the flag CE.
func (f *Frame) Foreign(h *Headers, b []byte, src, dst uint32, class uint8) {
	f.From, f.To = h.Src, h.Dst
	f.Packet = packet.Packet{Flow: src, To: dst, Hash: h.Hash, Size: uint16(max(minLen, len(b)) + FCSLen),
		Meta: packet.MakeMeta(packet.Foreign, class), Flags: packet.Extended}
	if !h.markable() {
		f.Packet.Flags |= packet.CE
	}
	f.Ext = packForeign(f.Ext[:0], b)
}

// Headers are the fields of a foreign frame that a switch reads.
type Headers struct {
	Dst, Src MAC
	Type     uint16 // after the tags
	Tagged   bool
	PCP      uint8 // of the first tag
	IP       int   // offset of the IPv4 or IPv6 header; 0: none
	DSCP     uint8
	ECN      uint8
	Hash     uint32 // of the five-tuple, or of the MAC addresses if there is none
}

// Ethernet types and header limits of foreign frames.
const (
	typeVLAN = 0x8100
	typeQinQ = 0x88a8
	typeIPv6 = 0x86dd
	ipv6Len  = 40
	maxTags  = 2
)

// Group reports whether the address is broadcast or multicast.
func (m MAC) Group() bool { return m[0]&1 != 0 }

// LinkLocal reports whether bridges never forward frames to the address (IEEE 802.1Q 8.6.3):
// PAUSE, LLDP, spanning tree.
func (m MAC) LinkLocal() bool { return [5]byte(m[:5]) == [5]byte(pfcGroup[:5]) && m[5] < 16 }

// Control reports whether the frame is a MAC control frame, such as PFC.
func (h *Headers) Control() bool { return h.Type == typeMAC }

// Read parses a frame without its FCS. A frame that is truncated after the Ethernet header
// is treated as non-IP.
func (h *Headers) Read(b []byte) error {
	*h = Headers{}
	switch {
	case len(b) < ethernetLen:
		return ErrShort
	case len(b) > maxForeign:
		return ErrLong
	}
	copy(h.Dst[:], b)
	copy(h.Src[:], b[6:])
	at := 12
	h.Type = binary.BigEndian.Uint16(b[at:])
	for tags := 0; (h.Type == typeVLAN || h.Type == typeQinQ) && tags < maxTags && len(b) >= at+6; tags++ {
		if !h.Tagged {
			h.Tagged, h.PCP = true, b[at+2]>>5
		}
		at += 4
		h.Type = binary.BigEndian.Uint16(b[at:])
	}
	h.Hash = mix(mix(0, b[:4]), b[4:8])
	h.Hash = mix(h.Hash, b[8:12])
	h.ip(b, at+2)
	return nil
}

// ip parses an IPv4 or IPv6 header.
func (h *Headers) ip(b []byte, at int) {
	ip := b[at:]
	var proto byte
	var addresses, rest []byte
	whole := true // not a fragment: ports are at their usual offset
	switch {
	case h.Type == typeIPv4 && len(ip) >= ipLen && ip[0]>>4 == 4 && int(ip[0]&15)*4 >= ipLen && len(ip) >= int(ip[0]&15)*4:
		h.DSCP, h.ECN = ip[1]>>2, ip[1]&3
		proto, addresses, rest = ip[9], ip[12:20], ip[int(ip[0]&15)*4:]
		whole = binary.BigEndian.Uint16(ip[6:])&(ipMore|ipOffset) == 0
	case h.Type == typeIPv6 && len(ip) >= ipv6Len && ip[0]>>4 == 6:
		tos := ip[0]<<4 | ip[1]>>4
		h.DSCP, h.ECN = tos>>2, tos&3
		proto, addresses, rest = ip[6], ip[8:40], ip[ipv6Len:]
	default:
		return
	}
	h.IP = at
	h.Hash = uint32(proto)
	for ; len(addresses) >= 4; addresses = addresses[4:] {
		h.Hash = mix(h.Hash, addresses[:4])
	}
	if whole && (proto == protoTCP || proto == protoUDP) && len(rest) >= 4 {
		h.Hash = mix(h.Hash, rest[:4])
	}
}

// mix adds four bytes to a hash. Routers hash the result again, so mix only has to keep
// different fields from cancelling each other.
func mix(h uint32, b []byte) uint32 {
	return (h ^ binary.BigEndian.Uint32(b)) * 0x9e3779b1
}

// markable reports whether the frame allows ECN marking and is not yet marked.
func (h *Headers) markable() bool { return h.IP != 0 && h.ECN != notECT && h.ECN != ce }

// setCE marks a parsed frame if it is markable, and updates the IPv4 checksum (RFC 1624,
// equation 3).
func (h *Headers) setCE(b []byte) {
	if !h.markable() {
		return
	}
	ip := b[h.IP:]
	if h.Type == typeIPv6 {
		ip[1] |= ce << 4
	} else {
		before := binary.BigEndian.Uint16(ip)
		ip[1] |= ce
		after := binary.BigEndian.Uint16(ip)
		check := binary.BigEndian.Uint16(ip[10:])
		binary.BigEndian.PutUint16(ip[10:], ^fold(uint32(^check)+uint32(^before)+uint32(after)))
	}
	h.ECN = ce
}

// FillChecksum computes the TCP or UDP checksum that a sender left to its NIC (veth does not
// compute it). It reports whether the frame has such a checksum.
func (h *Headers) FillChecksum(b []byte) bool {
	if h.IP == 0 {
		return false
	}
	ip := b[h.IP:]
	var proto byte
	var s uint32
	var body []byte
	if h.Type == typeIPv6 {
		end := ipv6Len + int(binary.BigEndian.Uint16(ip[4:]))
		if len(ip) < end {
			return false
		}
		proto, body = ip[6], ip[ipv6Len:end]
		s = sum(uint32(proto)+uint32(len(body)), ip[8:40])
	} else {
		head, end := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
		if len(ip) < end || end < head || binary.BigEndian.Uint16(ip[6:])&(ipMore|ipOffset) != 0 {
			return false
		}
		proto, body = ip[9], ip[head:end]
		s = pseudo(ip, proto, len(body))
	}
	at := 16 // offset in the TCP header
	if proto == protoUDP {
		at = 6
	}
	if (proto != protoTCP && proto != protoUDP) || len(body) < at+2 {
		return false
	}
	binary.BigEndian.PutUint16(body[at:], 0)
	c := ^fold(sum(s, body))
	if c == 0 && proto == protoUDP {
		c = 0xffff // 0 would mean no checksum
	}
	binary.BigEndian.PutUint16(body[at:], c)
	return true
}
