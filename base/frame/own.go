package frame

import (
	"encoding/binary"

	"github.com/xoff-net/xoff/base/packet"
)

// First byte of frames in the format of xoff. 1 to 8 are the opcodes of ra_hdr, which is a
// complete frame (docs/deadlock.md). All others have a header of four bytes:
//
//	0     type
//	1     0x80: words have 8 bytes, else 4; 0x08: telemetry requested; 0x07: class
//	2     number of words
//	3     0
//
// followed by the words, big-endian.
const (
	raProbe     = 1
	raBarrier   = 7
	raCheck     = 8
	ownFeedback = 0x10
	ownRequest  = 0x11
	ownLoop     = 0x12
	ownPFC      = 0x14 // words added to a PFC frame
	ownCarried  = 0x15 // words added to data and replies, after ownMagic
	ownHello    = 0x17 // 0x16 is ownTrailer

	headLen       = 4
	headWide      = 0x80
	headTelemetry = 0x08
	headClass     = 0x07
	maxWords      = 255
)

// ownMagic precedes words in the payload of data and after the header of an ACK.
const ownMagic = 0x786f6666 // "xoff"

var ownKinds = map[byte]packet.Kind{ownFeedback: packet.Feedback, ownRequest: packet.Request, ownLoop: packet.Loop}

// Limits of ra_hdr; the same as in package deadlock.
const (
	raMaxHop   = 64
	raMaxNodes = 64
	raMaxFlags = 15
	raWords    = 2 // before the node ids
)

func appendWords(b []byte, ext packet.Ext) []byte {
	for _, w := range ext {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// appendHead appends a header and at most maxWords words.
func appendHead(b []byte, what, flags byte, ext packet.Ext) []byte {
	ext = ext[:min(len(ext), maxWords)]
	for _, w := range ext {
		if w>>32 != 0 {
			flags |= headWide
		}
	}
	b = append(b, what, flags, byte(len(ext)), 0)
	if flags&headWide != 0 {
		return appendWords(b, ext)
	}
	for _, w := range ext {
		b = binary.BigEndian.AppendUint32(b, uint32(w))
	}
	return b
}

// head decodes a header with its words and returns their length in bytes.
func (f *Frame) head(b []byte) (int, error) {
	if len(b) < headLen {
		return 0, ErrShort
	}
	if b[1]&^(headWide|headTelemetry|headClass) != 0 || b[3] != 0 {
		return 0, ErrInvalid
	}
	size := 4
	if b[1]&headWide != 0 {
		size = 8
	}
	n := headLen + size*int(b[2])
	if len(b) < n {
		return 0, ErrShort
	}
	for at := headLen; at < n; at += size {
		if size == 8 {
			f.Ext = append(f.Ext, binary.BigEndian.Uint64(b[at:]))
		} else {
			f.Ext = append(f.Ext, uint64(binary.BigEndian.Uint32(b[at:])))
		}
	}
	return n, nil
}

// raHdrWords returns the number of words of the ra_hdr at the start of an extension, or 0 if
// there is none.
func raHdrWords(ext packet.Ext) int {
	if len(ext) < raWords {
		return 0
	}
	w := ext[0]
	op, flags, hop, nodes := byte(w>>56), byte(w>>51)&0x1f, byte(w>>40), int(byte(w>>32))
	n := raWords + nodes
	if op < raProbe || op > raCheck || flags > raMaxFlags || hop > raMaxHop || nodes > raMaxNodes || len(ext) < n {
		return 0
	}
	for _, id := range ext[raWords:n] {
		if uint16(id) != 0 {
			return 0
		}
	}
	return n
}

// allRAHdr reports whether an extension is a sequence of ra_hdr.
func allRAHdr(ext packet.Ext) bool {
	for len(ext) > 0 {
		n := raHdrWords(ext)
		if n == 0 {
			return false
		}
		ext = ext[n:]
	}
	return true
}

// raHdr decodes one ra_hdr and returns its length in bytes.
func (f *Frame) raHdr(b []byte) (int, error) {
	if len(b) < 8*raWords {
		return 0, ErrShort
	}
	n := 8 * (raWords + int(b[3]))
	if len(b) < n {
		return 0, ErrShort
	}
	start := len(f.Ext)
	for at := 0; at < n; at += 8 {
		f.Ext = append(f.Ext, binary.BigEndian.Uint64(b[at:]))
	}
	if raHdrWords(f.Ext[start:]) == 0 {
		return 0, ErrInvalid
	}
	return n, nil
}

func appendOwn(b []byte, p *packet.Packet, ext packet.Ext) []byte {
	what := byte(ownLoop)
	switch p.Kind() {
	case packet.Feedback:
		what = ownFeedback
	case packet.Request:
		what = ownRequest
	default:
		if n := raHdrWords(ext); n > 0 && n == len(ext) && byte(ext[0]>>56) != raBarrier {
			return appendWords(b, ext)
		}
	}
	return appendHead(b, what, p.Class(), ext)
}

// appendBarrier appends the ra_hdr of a barrier: its round and one node id, the switch that
// sent it. Package deadlock stores them in fields of the packet.
func appendBarrier(b []byte, p *packet.Packet) []byte {
	return appendWords(b, packet.Ext{
		raBarrier<<56 | uint64(p.Class())<<48 | 1<<32 | uint64(p.Hash),
		uint64(p.Flow),
		uint64(uint16(p.Seq)) << 48,
	})
}

// MaxHello is the largest number of words in a hello.
const MaxHello = maxWords

// AppendHello appends a hello frame, by which live nodes find each other. The caller defines
// the words. It is not a packet: no data plane sees it.
func AppendHello(b []byte, from MAC, words []uint64) []byte {
	start := len(b)
	return pad(appendHead(appendEthernet(b, from, nearestGroup, typeOwn), ownHello, headWide, words), start+minLen)
}

func (f *Frame) own(b []byte) error {
	if len(b) == 0 {
		return ErrShort
	}
	if kind, ok := ownKinds[b[0]]; ok {
		if _, err := f.head(b); err != nil {
			return err
		}
		if b[1]&headTelemetry != 0 {
			return ErrInvalid
		}
		f.Packet.Meta = packet.MakeMeta(kind, b[1]&headClass)
		return nil
	}
	if b[0] == ownHello {
		f.Hello = true
		_, err := f.head(b)
		return err
	}
	if b[0] < raProbe || b[0] > raCheck {
		return ErrForeign
	}
	if _, err := f.raHdr(b); err != nil {
		return err
	}
	f.Packet.Meta = packet.MakeMeta(packet.Loop, 0)
	if b[0] != raBarrier {
		return nil
	}
	if len(f.Ext) != raWords+1 || f.Ext[1]>>32 != 0 {
		return ErrInvalid
	}
	f.Packet.Meta = packet.MakeMeta(packet.Barrier, byte(f.Ext[0]>>48)&7)
	f.Packet.Hash, f.Packet.Flow, f.Packet.Seq = uint32(f.Ext[0]), uint32(f.Ext[1]), uint32(f.Ext[2]>>48)
	f.Packet.To = packet.NoNode
	f.Ext = f.Ext[:0]
	return nil
}
