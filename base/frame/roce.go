package frame

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/xoff-net/xoff/base/packet"
)

// RoCEv2: UDP to port 4791, the base transport header, an extended header by opcode, payload
// and ICRC.
const (
	udpLen   = 8
	udpRoCE  = 4791
	bthLen   = 12
	rethLen  = 16
	aethLen  = 4
	cnpLen   = 16
	icrcLen  = 4
	mask24   = 1<<24 - 1
	entropy  = 1<<14 - 1 // bits of the hash in the source port
	portBase = 0xc000

	opWriteFirst  = 0x06
	opWriteMiddle = 0x07
	opWriteLast   = 0x08
	opWriteOnly   = 0x0a
	opAck         = 0x11
	opCNP         = 0x81

	bthMigrated = 0x40
	bthPad      = 0x30
	bthVersion  = 0x0f
	bthFECN     = 0x80
	bthBECN     = 0x40
	bthAckReq   = 0x80
	defaultKey  = 0xffff

	ackSyndrome = 0x1f // an ACK without credits
	nakSequence = 0x60

	qpBase = 0x100 // lower numbers are for management
	qps    = 1<<24 - qpBase
)

// queuePair returns the queue pair number of a flow, the same at both ends.
func queuePair(flow uint32) uint32 { return qpBase + flow%qps }

func writeOpcode(seq, packets uint32) byte {
	switch {
	case packets == 1:
		return opWriteOnly
	case seq == 0:
		return opWriteFirst
	case seq+1 == packets:
		return opWriteLast
	}
	return opWriteMiddle
}

func appendRoCE(b []byte, p *packet.Packet, ext packet.Ext, m *Message) []byte {
	at := len(b)
	b = appendIPv4(b, p, protoUDP, m)
	b = binary.BigEndian.AppendUint16(b, portBase|uint16(p.Hash&entropy))
	b = append(b, udpRoCE>>8, udpRoCE&0xff, 0, 0, 0, 0)
	bth := len(b)
	b = append(b, 0, bthMigrated, defaultKey>>8, defaultKey&0xff)
	b = binary.BigEndian.AppendUint32(b, queuePair(p.Flow))
	b = append(b, 0, 0, 0, 0)
	psn := p.Seq
	switch p.Kind() {
	case packet.Data:
		op := writeOpcode(p.Seq, m.packets())
		b[bth] = op
		if p.Flags&packet.AckNow != 0 || op == opWriteLast || op == opWriteOnly {
			b[bth+8] = bthAckReq
		}
		if op == opWriteFirst || op == opWriteOnly {
			b = append(b, zeros[:12]...) // address and key
			b = binary.BigEndian.AppendUint32(b, uint32(min(m.Size, 1<<32-1)))
		}
		b = appendCarried(b, p, ext)
		payload := m.payload(p, maxIP-icrcLen-3-(len(b)-at))
		b[bth+1] |= byte(-payload) & 3 << 4
		b = pad(b, len(b)+(payload+3)&^3)
	case packet.CNP:
		b[bth], b[bth+4], psn = opCNP, bthBECN, 0
		b = append(b, zeros[:cnpLen]...)
	default:
		b[bth] = opAck
		if p.Flags&packet.CE != 0 {
			b[bth+4] = bthBECN // echoes the mark of the acknowledged packet
		}
		syndrome, done := uint32(ackSyndrome), uint32(0)
		if p.Kind() == packet.Nack {
			syndrome = nakSequence
		} else {
			psn--
		}
		if p.Seq >= m.packets() {
			done = 1
		}
		b = binary.BigEndian.AppendUint32(b, syndrome<<24|done)
		b = appendCarried(b, p, ext)
	}
	b[bth+9], b[bth+10], b[bth+11] = byte(psn>>16), byte(psn>>8), byte(psn)
	binary.BigEndian.PutUint16(b[bth-4:], uint16(len(b)-bth+udpLen+icrcLen))
	endIPv4(b, at, icrcLen)
	return binary.LittleEndian.AppendUint32(b, icrc(b[at:]))
}

// appendCarried appends the extension of a packet.
func appendCarried(b []byte, p *packet.Packet, ext packet.Ext) []byte {
	flags := byte(0)
	if p.Flags&packet.Telemetry != 0 {
		flags = headTelemetry
	}
	if len(ext) == 0 && flags == 0 {
		return b
	}
	return appendHead(binary.BigEndian.AppendUint32(b, ownMagic), ownCarried, flags, ext)
}

// ones replace variable fields in the ICRC.
var ones = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// icrc returns the invariant CRC of an IP packet without it. Fields that change in transit
// count as ones. It works in pieces, because a copy of the headers would allocate.
func icrc(ip []byte) uint32 {
	crc := crc32.ChecksumIEEE(ones[:])
	done := 0
	for _, skip := range [...][2]int{
		{1, 1},                  // DSCP and ECN
		{8, 1},                  // TTL
		{10, 2},                 // IP checksum
		{ipLen + 6, 2},          // UDP checksum
		{ipLen + udpLen + 4, 1}, // FECN, BECN, reserved
	} {
		crc = crc32.Update(crc, crc32.IEEETable, ip[done:skip[0]])
		crc = crc32.Update(crc, crc32.IEEETable, ones[:skip[1]])
		done = skip[0] + skip[1]
	}
	return crc32.Update(crc, crc32.IEEETable, ip[done:])
}

func (f *Frame) roce(ip []byte) error {
	b := ip[ipLen:]
	if len(b) < udpLen+bthLen+icrcLen {
		return ErrShort
	}
	if binary.BigEndian.Uint16(b[2:]) != udpRoCE {
		return ErrForeign
	}
	if int(binary.BigEndian.Uint16(b[4:])) != len(b) {
		return ErrShort
	}
	if binary.BigEndian.Uint16(b[6:]) != 0 && fold(sum(pseudo(ip, protoUDP, len(b)), b)) != 0xffff {
		return ErrChecksum
	}
	if end := len(ip) - icrcLen; binary.LittleEndian.Uint32(ip[end:]) != icrc(ip[:end]) {
		return ErrChecksum
	}
	f.Packet.Hash = uint32(binary.BigEndian.Uint16(b)) & entropy
	bth, rest := b[udpLen:udpLen+bthLen], b[udpLen+bthLen:len(b)-icrcLen]
	if bth[1]&bthVersion != 0 {
		return ErrForeign
	}
	qp := binary.BigEndian.Uint32(bth[4:]) & mask24
	if qp < qpBase {
		return ErrForeign
	}
	f.Packet.Flow = qp - qpBase
	f.Packet.Seq = binary.BigEndian.Uint32(bth[8:]) & mask24
	kind, err := f.headers(bth, rest, ip[1]&3 == ce)
	f.Packet.Meta = packet.MakeMeta(kind, ip[1]>>dscpShift)
	return err
}

// headers decodes what follows the base transport header.
func (f *Frame) headers(bth, b []byte, marked bool) (packet.Kind, error) {
	switch op := bth[0]; op {
	case opWriteFirst, opWriteOnly, opWriteMiddle, opWriteLast:
		if op == opWriteFirst || op == opWriteOnly {
			if len(b) < rethLen {
				return packet.Data, ErrShort
			}
			f.Message, b = binary.BigEndian.Uint32(b[12:]), b[rethLen:]
		}
		f.Last = op == opWriteLast || op == opWriteOnly
		if marked {
			f.Packet.Flags |= packet.CE
		}
		if bth[8]&bthAckReq != 0 {
			f.Packet.Flags |= packet.AckNow
		}
		n, err := f.carried(b)
		if err != nil {
			return packet.Data, err
		}
		f.Payload = len(b) - n - int(bth[1]&bthPad>>4)
		if f.Payload < 0 {
			return packet.Data, ErrInvalid
		}
		return packet.Data, nil
	case opCNP:
		if len(b) != cnpLen {
			return packet.CNP, ErrShort
		}
		return packet.CNP, nil
	case opAck:
		return f.acknowledge(bth, b)
	}
	return packet.Data, ErrForeign
}

func (f *Frame) acknowledge(bth, b []byte) (packet.Kind, error) {
	if len(b) < aethLen {
		return packet.Ack, ErrShort
	}
	if bth[4]&bthBECN != 0 {
		f.Packet.Flags |= packet.CE
	}
	kind := packet.Nack
	switch {
	case b[0] <= ackSyndrome:
		kind = packet.Ack
		f.Packet.Seq = (f.Packet.Seq + 1) & mask24
	case b[0] != nakSequence:
		return kind, ErrForeign
	}
	n, err := f.carried(b[aethLen:])
	if err == nil && n != len(b)-aethLen {
		err = ErrInvalid
	}
	return kind, err
}

// carried decodes the extension of a packet and returns its length in bytes.
func (f *Frame) carried(b []byte) (int, error) {
	if len(b) < 4+headLen || binary.BigEndian.Uint32(b) != ownMagic || b[4] != ownCarried {
		return 0, nil
	}
	n, err := f.head(b[4:])
	if err == nil && b[5]&headTelemetry != 0 {
		f.Packet.Flags |= packet.Telemetry
	}
	return 4 + n, err
}
