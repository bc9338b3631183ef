package frame

import (
	"encoding/binary"

	"github.com/xoff-net/xoff/base/packet"
)

// Frames on a live wire have a trailer with packet fields that no header carries. Other
// receivers take it for padding. From its end:
//
//	-4    "xoff"
//	-8    packet number, 32 bits; foreign frames: lower 16 bits of destination and source host
//	-9    kind and class
//	-10   0x01: the first word is the due time of the frame
//	-12   size of the packet
//	-13   number of words
//	-14   0; foreign frames: bits 16 to 19 of destination and source host
//	-15   packet flags that no header carries
//	-16   0x16
//
// preceded by its words of 8 bytes: the due time; for PFC, the depths of the pauses; for
// TCP, the extension of the packet.
const (
	ownTrailer   = 0x16
	trailerLen   = 16
	trailerDue   = 0x01
	trailerFlags = packet.Unscheduled | packet.Marked | packet.Retransmit | packet.Pinned | packet.AckNow | packet.Telemetry
)

// AppendTrailer appends the trailer to a frame that Append made from the same packet. due is
// a time that both ends of the wire understand; 0: none.
func AppendTrailer(b []byte, p *packet.Packet, ext packet.Ext, m *Message, due uint64) []byte {
	marks, words := byte(0), 0
	if due != 0 {
		b = binary.BigEndian.AppendUint64(b, due)
		marks |= trailerDue
		words++
	}
	switch k := p.Kind(); {
	case k == packet.PFC:
		if depths := uint64(p.Dst())<<32 | uint64(p.Flow); depths != 0 {
			b = binary.BigEndian.AppendUint64(b, depths)
			words++
		}
	case isTCP(k, m):
		ext = ext[:min(len(ext), maxWords-words)]
		b = appendWords(b, ext)
		words += len(ext)
	}
	number, upper := p.Seq, byte(0)
	if p.Kind() == packet.Foreign {
		number, upper = p.Dst()<<16|p.Flow&0xffff, byte(p.Dst()>>16<<4|p.Flow>>16)
	}
	b = append(b, ownTrailer, byte(p.Flags&trailerFlags), upper, byte(words))
	b = binary.BigEndian.AppendUint16(b, p.Size)
	b = append(b, marks, p.Meta)
	b = binary.BigEndian.AppendUint32(b, number)
	return binary.BigEndian.AppendUint32(b, ownMagic)
}

// isTCP reports whether a packet of a message is a TCP segment.
func isTCP(k packet.Kind, m *Message) bool {
	return m != nil && m.TCP && (k == packet.Data || k == packet.Ack)
}

// cutTrailer splits a frame into the part before the trailer and the trailer with its words.
// The trailer is nil if there is none.
func cutTrailer(b []byte) (before, trailer []byte) {
	end := len(b) - trailerLen
	if end < minLen || binary.BigEndian.Uint32(b[len(b)-4:]) != ownMagic || b[end] != ownTrailer {
		return b, nil
	}
	start := end - 8*int(b[end+3])
	if start < minLen {
		return b, nil
	}
	ours := trailerKind(b) != packet.Foreign // the IP length of foreign frames is not checked
	if ours && binary.BigEndian.Uint16(b[12:]) == typeIPv4 && ethernetLen+int(binary.BigEndian.Uint16(b[ethernetLen+2:])) > start {
		return b, nil // payload that looks like a trailer
	}
	return b[:start], b[start:]
}

// trailerKind returns the packet kind in a trailer.
func trailerKind(t []byte) packet.Kind { return packet.Kind(t[len(t)-9] >> 3) }

// trailer completes a decoded frame from its trailer. Fields that are also in a header must agree.
func (f *Frame) trailer(t []byte) error {
	words, t := t[:len(t)-trailerLen], t[len(t)-trailerLen:]
	flags, size, marks := packet.Flags(t[1]), binary.BigEndian.Uint16(t[4:]), t[6]
	p := &f.Packet
	meta, number := t[7], binary.BigEndian.Uint32(t[8:])
	if flags&^trailerFlags != 0 || t[2] != 0 || marks&^trailerDue != 0 || packet.Kind(meta>>3) != p.Kind() {
		return ErrInvalid
	}
	if marks&trailerDue != 0 {
		if len(words) == 0 {
			return ErrInvalid
		}
		f.Due, words = binary.BigEndian.Uint64(words), words[8:]
	}
	tcp := f.TCP != nil
	switch {
	case p.Kind() == packet.PFC:
		if len(words) == 8 && binary.BigEndian.Uint16(words) == 0 {
			p.To, p.Flow = uint32(binary.BigEndian.Uint16(words[2:])), binary.BigEndian.Uint32(words[4:])
		} else if len(words) != 0 {
			return ErrInvalid
		}
		// The pause time of a RESUME is not encoded in frames.
		if _, pause, _ := p.PFC(); number>>16 != 0 || pause != 0 && number != p.Seq {
			return ErrInvalid
		}
	case tcp:
		for ; len(words) > 0; words = words[8:] {
			f.Ext = append(f.Ext, binary.BigEndian.Uint64(words))
		}
	case len(words) != 0:
		return ErrInvalid
	case p.Control() || p.Kind() == packet.CNP: // no packet number
	case p.Seq != number&mask24 && p.Kind() != packet.Barrier:
		return ErrInvalid
	}
	if !p.Control() && p.Kind() != packet.Barrier && meta != p.Meta {
		return ErrInvalid // the class must match the header
	}
	const inTrailer = packet.AckNow | packet.Telemetry // also in headers; the trailer decides
	p.Flags = p.Flags&^inTrailer | flags
	p.Seq, p.Size, p.Meta, f.Trailed = number, size, meta, true
	return nil
}
