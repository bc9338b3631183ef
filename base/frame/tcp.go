package frame

import (
	"encoding/binary"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// TCP. Each flow has its own connection, which is open when the flow starts. Sequence numbers
// begin at 1. Segments carry no extension except selective ACK blocks.
const (
	tcpLen    = 20
	tcpWindow = 0xffff

	tcpPSH = 0x08
	tcpACK = 0x10
	tcpECE = 0x40
	tcpCWR = 0x80

	optEnd       = 0
	optNop       = 1
	optSACK      = 5
	optTimestamp = 8
	maxBlocks    = 4

	tcpServer  = 9 // discard
	clientBase = 1024
	clients    = 1<<16 - clientBase
)

// tcpPorts returns the ports of a flow. Server ports are below clientBase.
func tcpPorts(flow uint32) (client, server uint16) {
	return uint16(clientBase + flow%clients), uint16((tcpServer + flow/clients) % clientBase)
}

// Block is a received part of a stream, in sequence numbers.
type Block struct{ From, To uint32 }

// Segment has the TCP fields of a frame.
type Segment struct {
	Seq, Ack    uint32
	Blocks      []Block
	ECE, CWR    bool
	Stamped     bool   // it has timestamps, which the simulator does not use
	Stamp, Echo uint32 // timestamp value and echo reply
}

func appendTCP(b []byte, p *packet.Packet, ext packet.Ext, m *Message) []byte {
	at := len(b)
	b = appendIPv4(b, p, protoTCP, m)
	tcp := len(b)
	from, to := tcpPorts(p.Flow)
	seq, ack, flags := uint32(1), uint32(1), byte(tcpACK)
	if p.Kind() == packet.Data {
		seq += uint32(m.upTo(p.Seq))
		if p.Seq+1 >= m.packets() {
			flags |= tcpPSH
		}
	} else {
		from, to = to, from
		ack += uint32(m.upTo(p.Seq))
		if p.Flags&packet.CE != 0 {
			flags |= tcpECE
		}
	}
	b = binary.BigEndian.AppendUint16(b, from)
	b = binary.BigEndian.AppendUint16(b, to)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, tcpLen/4<<4, flags, tcpWindow>>8, tcpWindow&0xff, 0, 0, 0, 0)
	if p.Kind() == packet.Data {
		b = pad(b, len(b)+m.payload(p, maxIP-(len(b)-at)))
	} else {
		b = appendBlocks(b, ext, m)
		b[tcp+12] = byte(len(b)-tcp) / 4 << 4
	}
	endIPv4(b, at, 0)
	binary.BigEndian.PutUint16(b[tcp+16:], ^fold(sum(pseudo(b[at:], protoTCP, len(b)-tcp), b[tcp:])))
	return b
}

// appendBlocks appends the selective ACK blocks in the extension of an ACK. The highest byte
// of its first word is the number of blocks; each further word is a range of packets.
func appendBlocks(b []byte, ext packet.Ext, m *Message) []byte {
	if !m.Selective || len(ext) == 0 {
		return b
	}
	n := min(int(ext[0]>>56), maxBlocks, len(ext)-1)
	if n == 0 {
		return b
	}
	b = append(b, optNop, optNop, optSACK, byte(2+8*n))
	for _, w := range ext[1 : 1+n] {
		b = binary.BigEndian.AppendUint32(b, 1+uint32(m.upTo(uint32(w))))
		b = binary.BigEndian.AppendUint32(b, 1+uint32(m.upTo(uint32(w>>32))))
	}
	return b
}

func (f *Frame) tcp(ip []byte) error {
	b := ip[ipLen:]
	if len(b) < tcpLen {
		return ErrShort
	}
	head := int(b[12]>>4) * 4
	if head < tcpLen || head > len(b) {
		return ErrShort
	}
	if fold(sum(pseudo(ip, protoTCP, len(b)), b)) != 0xffff {
		return ErrChecksum
	}
	from, to := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	s := &f.segment
	s.Seq, s.Ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	s.ECE, s.CWR = b[13]&tcpECE != 0, b[13]&tcpCWR != 0
	if b[13]&^(tcpECE|tcpCWR) != tcpACK && b[13]&^(tcpECE|tcpCWR) != tcpACK|tcpPSH {
		return ErrForeign // connections are neither opened nor closed
	}
	if err := s.options(b[tcpLen:head]); err != nil {
		return err
	}
	kind := packet.Data
	if from < clientBase && to >= clientBase {
		kind, from, to = packet.Ack, to, from
	} else if from < clientBase || to >= clientBase {
		return ErrForeign
	}
	if to < tcpServer {
		to += clientBase
	}
	f.TCP = s
	f.Packet.Flow = uint32(from-clientBase) + uint32(to-tcpServer)*clients
	f.Packet.Meta = packet.MakeMeta(kind, ip[1]>>dscpShift)
	if kind == packet.Ack {
		if s.ECE {
			f.Packet.Flags |= packet.CE
		}
		if head != len(b) {
			return ErrForeign
		}
		return nil
	}
	if ip[1]&3 == ce {
		f.Packet.Flags |= packet.CE
	}
	f.Payload = len(b) - head
	return nil
}

// options parses the options of a header and skips unknown ones.
func (s *Segment) options(b []byte) error {
	for len(b) > 0 && b[0] != optEnd {
		if b[0] == optNop {
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return ErrShort
		}
		body := b[2:b[1]]
		switch b[0] {
		case optSACK:
			if len(body)%8 != 0 || len(body) == 0 || len(body) > 8*maxBlocks {
				return ErrInvalid
			}
			for ; len(body) > 0; body = body[8:] {
				s.Blocks = append(s.Blocks, Block{binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])})
			}
		case optTimestamp:
			if len(body) != 8 {
				return ErrInvalid
			}
			s.Stamped, s.Stamp, s.Echo = true, binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
		}
		b = b[b[1]:]
	}
	return nil
}

// Number computes the packet number of a segment from its sequence number. Sequence numbers
// wrap after 4 GB.
func (f *Frame) Number(payload units.Bytes) error {
	switch {
	case f.TCP == nil || payload <= 0:
		return ErrForeign
	case f.Packet.Kind() == packet.Ack: // the last packet may be short
		f.Packet.Seq = uint32((units.Bytes(f.TCP.Ack-1) + payload - 1) / payload)
	case units.Bytes(f.TCP.Seq-1)%payload != 0:
		return ErrInvalid
	default:
		f.Packet.Seq = uint32(units.Bytes(f.TCP.Seq-1) / payload)
	}
	return nil
}
