package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

var (
	localMAC = PortMAC(5, 2)
	peerMAC  = PortMAC(0x1234, 7)
)

// unhex decodes hexadecimal digits and ignores white space.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// flow returns a RoCE message of three packets.
func flow() *Message { return &Message{Src: 0, Dst: 3, Size: 2500, Payload: 1000, Header: 48} }

// icrcBitByBit computes the ICRC by its definition: a shift register, one bit at a time,
// over the whole packet with the variable fields set to ones.
func icrcBitByBit(ip []byte) uint32 {
	b := append(bytes.Repeat([]byte{0xff}, 8), ip...)
	for _, i := range []int{1, 8, 10, 11, 26, 27, 32} {
		b[8+i] = 0xff
	}
	crc := ^uint32(0)
	for _, x := range b {
		for bit := range 8 {
			in := uint32(x) >> bit & 1
			if (crc^in)&1 != 0 {
				crc = crc>>1 ^ 0xedb88320
			} else {
				crc >>= 1
			}
		}
	}
	return ^crc
}

// realCNP is a CNP captured from a NIC (ConnectX-4 Lx). Its ICRC is 82 fd 00 2a.
const realCNP = `45c2 003c 718c 4000 4011 9161 0a00 1101 0a00 1201
	0000 12b7 0028 0000 8100 ffff 4000 0118 0000 0000 00000000 00000000 00000000 00000000`

func TestICRC(t *testing.T) {
	cnp := unhex(t, realCNP)
	want := binary.LittleEndian.Uint32([]byte{0x82, 0xfd, 0x00, 0x2a})
	if got := icrc(cnp); got != want {
		t.Errorf("got %08x, want %08x", got, want)
	}
	if got := icrcBitByBit(cnp); got != want {
		t.Errorf("bit by bit: got %08x, want %08x", got, want)
	}
}

// The expected frames are worked out by hand.
func TestAppend(t *testing.T) {
	pfc := packet.Packet{}
	pfc.SetPFC(0x0a, 0x08, 0xffff)
	pfc.SetPauseDepth(3, 5)
	for _, c := range []struct {
		name string
		p    packet.Packet
		ext  packet.Ext
		m    *Message
		want string // beginning of the frame
		len  int
	}{
		// Classes 1 and 3; class 3 pauses for 65,535 quanta.
		{"pfc", pfc, nil, nil, `0180c2000001 020000050002 8808 0101 000a 0000 0000 0000 ffff 0000 0000 0000 0000 0000`, 60},
		// Class 3 is DSCP 24, ECN 2: 0x62. IP: 20 + 8 + 12 + 16 + 1000 + 4 = 1060 B, 0x424; UDP: 1040 B,
		// 0x410. Checksum: 4562+0424+0000+4000+4011+0a00+0001+0a00+0004 = dd9c, whose complement
		// is 2263. Port: c000 + 12345 mod 4000. QP: 100 + 7. 2500 B are 9c4.
		{"first", packet.Packet{Flow: 7, Hash: 0x12345, To: 3, Size: 1048, Meta: packet.MakeMeta(packet.Data, 3)}, nil, flow(),
			`020012340007 020000050002 0800 4562 0424 0000 4000 4011 2263 0a000001 0a000004 e345 12b7 0410 0000
			 06 40 ffff 00 000107 00 000000 0000000000000000 00000000 000009c4 00000000`, 14 + 1060},
		// 497 B and 3 B of padding; CE: 0x63; the last packet requests an ACK.
		{"last", packet.Packet{Flow: 7, Seq: 2, To: 3, Size: 545, Meta: packet.MakeMeta(packet.Data, 3), Flags: packet.CE}, nil, flow(),
			`020012340007 020000050002 0800 4563 0220 0000 4000 4011 2466 0a000001 0a000004 c000 12b7 020c 0000
			 08 70 ffff 00 000107 80 000002 00`, 14 + 20 + 8 + 12 + 500 + 4},
		// All three packets have arrived, the next would be 3: PSN 2, MSN 1. Class 0, ECN 0.
		{"ack", packet.Packet{Flow: 7, Seq: 3, To: 0, Size: 64, Meta: packet.MakeMeta(packet.Ack, 0), Flags: packet.CE}, nil, flow(),
			`020012340007 020000050002 0800 4500 0030 0000 4000 4011 26b9 0a000004 0a000001 c000 12b7 001c 0000
			 11 40 ffff 40 000107 00 000002 1f 000001`, 62},
		{"nak", packet.Packet{Flow: 7, Seq: 1, To: 0, Size: 64, Meta: packet.MakeMeta(packet.Nack, 0)}, nil, flow(),
			`020012340007 020000050002 0800 4500 0030 0000 4000 4011 26b9 0a000004 0a000001 c000 12b7 001c 0000
			 11 40 ffff 00 000107 00 000001 60 000000`, 62},
		{"cnp", packet.Packet{Flow: 7, Seq: 1, To: 0, Size: 64, Meta: packet.MakeMeta(packet.CNP, 0)}, nil, flow(),
			`020012340007 020000050002 0800 4500 003c 0000 4000 4011 26ad 0a000004 0a000001 c000 12b7 0028 0000
			 81 40 ffff 40 000107 00 000000 00000000000000000000000000000000`, 74},
		// Three words with c_max and c_i; each fits into four bytes.
		{"feedback", packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Feedback, 2)}, packet.Ext{1, 2, 0xffffffff}, nil,
			`0180c200000e 020000050002 88b5 10 02 03 00 00000001 00000002 ffffffff 00`, 60},
		{"request", packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Request, 0)}, packet.Ext{1, 1 << 32}, nil,
			`0180c200000e 020000050002 88b5 11 80 02 00 0000000000000001 0000000100000000 00`, 60},
		// docs/deadlock.md: opcode 5, flags 1, class 3, hop 2, one node id; sid 0x0102, qid 0x0304.
		{"table", packet.Packet{Size: 66, Meta: packet.MakeMeta(packet.Loop, 0)},
			packet.Ext{5<<56 | 0x0b<<48 | 2<<40 | 1<<32 | 0x01020304, 7<<32 | 9, 1<<48 | 2<<32 | 3<<16}, nil,
			`0180c200000e 020000050002 88b5 05 0b 02 01 0102 0304 00000007 00000009 0001 0002 0003 0000 00`, 62},
		{"barrier", packet.Packet{Flow: 9, Seq: 5, Hash: 0x01020304, To: packet.NoNode, Size: 64, Meta: packet.MakeMeta(packet.Barrier, 3)}, nil, nil,
			`020012340007 020000050002 88b5 07 03 00 01 0102 0304 00000000 00000009 0005 0000 0000 0000 00`, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Append(nil, localMAC, peerMAC, &c.p, c.ext, c.m)
			if want := unhex(t, c.want); !bytes.HasPrefix(got, want) {
				t.Errorf("got  %x\nwant %x", got[:min(len(got), len(want))], want)
			}
			if len(got) != c.len {
				t.Errorf("%d B, want %d", len(got), c.len)
			}
			if err := new(Frame).Decode(got); err != nil {
				t.Error(err)
			}
			if c.m != nil {
				if ip := got[14:]; binary.LittleEndian.Uint32(ip[len(ip)-4:]) != icrcBitByBit(ip[:len(ip)-4]) {
					t.Error("wrong ICRC")
				}
			}
		})
	}
}

// The receiver has packets 0, 2 and 4 of 1000 B (the last one is short) of a flow of 4100 B:
// it expects byte 1001 and has 2001 to 3001 and 4001 to 4101.
func TestAppendTCPAck(t *testing.T) {
	m := &Message{Src: 0, Dst: 3, Size: 4100, Payload: 1000, Header: 48, TCP: true, Selective: true}
	p := packet.Packet{Flow: 2, Seq: 1, To: 0, Size: 64, Meta: packet.MakeMeta(packet.Ack, 0), Flags: packet.CE | packet.Extended}
	ext := packet.Ext{2<<56 | 2<<32 | 4, 4 | 5<<32, 2 | 3<<32}
	got := Append(nil, localMAC, peerMAC, &p, ext, m)
	// 20 + 20 + 20 B of IP, ports 9 and 1026, flags ACK and ECE, an option of 18 B. The TCP
	// checksum: addresses 1405, protocol and length 2e, header 9+402+1+3e9+a050+ffff = 1a844,
	// options 101+512+fa1+1005+7d1+bb9 = 3943: 1f5ba, with its carry f5bb, complement 0a44.
	want := unhex(t, `020012340007 020000050002 0800 4500 003c 0000 4000 4006 26b8 0a000004 0a000001
		0009 0402 00000001 000003e9 a050 ffff 0a44 0000 0101 0512 00000fa1 00001005 000007d1 00000bb9`)
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	var f Frame
	if err := f.Decode(got); err != nil {
		t.Fatal(err)
	}
	if err := f.Number(1000); err != nil || f.Packet.Seq != 1 || f.Packet.Flow != 2 || f.Packet.Kind() != packet.Ack || f.Packet.Flags != packet.CE {
		t.Errorf("%+v: %v", f.Packet, err)
	}
	if w := []Block{{4001, 4101}, {2001, 3001}}; !slices.Equal(f.TCP.Blocks, w) || f.TCP.Ack != 1001 {
		t.Errorf("%+v", f.TCP)
	}
}

// Timestamps are parsed, other options are skipped.
func TestTCPOptions(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
		s    Segment
	}{
		{"01 01 08 0a 00000007 00000009", nil, Segment{Stamped: true, Stamp: 7, Echo: 9}},
		{"03 03 07 00 ff ff ff ff", nil, Segment{}},
		{"05 0a 00000001 00000002 00 00", nil, Segment{Blocks: []Block{{1, 2}}}},
		{"08 09 00000007 000000", ErrInvalid, Segment{}},
		{"05 02 00 00", ErrInvalid, Segment{}},
		{"05 0b 00000001 00000002 00", ErrInvalid, Segment{}},
		{"08 0a 00", ErrShort, Segment{}},
		{"08 00 00", ErrShort, Segment{}},
		{"08", ErrShort, Segment{}},
	} {
		var s Segment
		if err := s.options(unhex(t, c.text)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.text, err, c.want)
		} else if err == nil && (s.Stamp != c.s.Stamp || s.Echo != c.s.Echo || s.Stamped != c.s.Stamped || !slices.Equal(s.Blocks, c.s.Blocks)) {
			t.Errorf("%s: %+v", c.text, s)
		}
	}
}

// The largest packet fits into a frame that can be decoded: its 65,487 B of payload are
// truncated because real headers are longer.
func TestLargestPacket(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		m := &Message{Src: 0, Dst: 3, Size: 1 << 20, Payload: 65487, Header: 48, TCP: tcp}
		p := packet.Packet{Size: 65535, Meta: packet.MakeMeta(packet.Data, 3)}
		var f Frame
		b := Append(nil, localMAC, peerMAC, &p, packet.Ext{1}, m)
		if err := f.Decode(b); err != nil || len(b) > 65531 || len(b) < 65520 || f.Payload > 65487 {
			t.Errorf("frame of %d B with %d B of payload: %v", len(b), f.Payload, err)
		}
	}
}

// Three pause times for classes 0, 2, 4 and 5, and a RESUME for class 1 give three packets.
func TestSeveralPauseTimes(t *testing.T) {
	b := unhex(t, "0180c2000001 020000050002 8808 0101 0037 0005 0000 0007 0000 0005 0009 0000 0000")
	var f Frame
	if err := f.Decode(b); err != nil {
		t.Fatal(err)
	}
	var got [][3]uint16
	add := func(p *packet.Packet) {
		enable, pause, quanta := p.PFC()
		got = append(got, [3]uint16{uint16(enable), uint16(pause), quanta})
	}
	add(&f.Packet)
	f.More(add)
	if want := [][3]uint16{{0x13, 0x11, 5}, {0x04, 0x04, 7}, {0x20, 0x20, 9}}; !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// sample draws a random packet with its extension and message.
func sample(t *rapid.T) (packet.Packet, packet.Ext, *Message) {
	u := func(name string, most uint64) uint64 { return rapid.Uint64Range(0, most).Draw(t, name) }
	kind := rapid.SampledFrom([]packet.Kind{packet.Data, packet.Ack, packet.Nack, packet.CNP, packet.Barrier, packet.PFC, packet.Feedback, packet.Request, packet.Loop}).Draw(t, "kind")
	class := uint8(u("class", 7))
	m := &Message{
		Src: uint32(u("src", packet.MaxHosts-1)), Dst: uint32(u("dst", packet.MaxHosts-1)), Size: 1 + units.Bytes(u("size", 1<<26)),
		Payload: 1 + units.Bytes(u("payload", 4000)), Header: 48, TCP: u("tcp", 1) == 1, Selective: true,
	}
	p := packet.Packet{Flow: uint32(u("flow", 1<<22)), Hash: uint32(u("hash", entropy)), To: m.Dst, Size: 64, Meta: packet.MakeMeta(kind, class)}
	var ext packet.Ext
	words := func(most int, max uint64) {
		ext = rapid.SliceOfN(rapid.Uint64Range(0, max), 0, most).Draw(t, "ext")
	}
	last := m.packets() - 1
	switch kind {
	case packet.Data:
		p.Seq = uint32(u("seq", uint64(last)))
		size := m.Payload
		if p.Seq == last {
			size = m.Size - units.Bytes(last)*m.Payload
		}
		p.Size = uint16(48 + size)
		p.Flags = packet.Flags(u("flags", 1)) * packet.CE
		if !m.TCP {
			words(8, 1<<64-1)
			p.Flags |= packet.Flags(u("wants", 1)) * packet.Telemetry
		}
	case packet.Ack, packet.Nack, packet.CNP:
		p.Seq, p.To = uint32(u("seq", uint64(last)+1)), m.Src
		if kind == packet.CNP {
			p.Seq = 0
		} else {
			p.Flags = packet.Flags(u("flags", 1)) * packet.CE
		}
		if !m.TCP && kind != packet.CNP {
			words(8, 1<<40)
		}
	case packet.Barrier:
		p.Seq, p.Hash, p.To = uint32(u("seq", 65535)), uint32(u("id", 1<<32-1)), packet.NoNode
	case packet.PFC:
		enable := packet.ClassMask(u("enable", 255))
		p.SetPFC(enable, packet.ClassMask(u("pause", 255)), 1+uint16(u("quanta", 65534)))
		words(6, 1<<64-1)
	default:
		p.Flow, p.Hash, p.To = 0, 0, 0
		if kind == packet.Loop {
			p.Meta = packet.MakeMeta(kind, 0)
		}
		words(40, 1<<rapid.IntRange(0, 63).Draw(t, "width"))
	}
	if len(ext) > 0 {
		p.Flags |= packet.Extended
	}
	return p, ext, m
}

// Decoding returns what was encoded.
func TestRoundTrip(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		p, ext, m := sample(t)
		b := Append(nil, localMAC, peerMAC, &p, ext, m)
		var f Frame
		if err := f.Decode(b); err != nil {
			t.Fatalf("%v: %x", err, b)
		}
		want := p
		want.Size = uint16(len(b) + FCSLen)
		switch p.Kind() {
		case packet.PFC:
			enable, pause, quanta := p.PFC()
			if pause == 0 {
				quanta = 0
			}
			want.SetPFC(enable, pause, quanta)
			want.Size = uint16(len(b) + FCSLen)
			want.Flags = p.Flags
		case packet.Data:
			if !m.TCP && p.Seq+1 == m.packets() {
				want.Flags |= packet.AckNow
			}
			if f.Payload != int(p.Size)-48 || f.Src != m.Src || !m.TCP && f.Last != (p.Seq+1 == m.packets()) {
				t.Errorf("payload %d, source %d, last %t", f.Payload, f.Src, f.Last)
			}
		}
		if k := p.Kind(); m.TCP && (k == packet.Data || k == packet.Ack) {
			want.Hash = 0
			if err := f.Number(m.Payload); err != nil {
				t.Error(err)
			}
		} else if !p.Control() && k != packet.Barrier {
			want.Seq &= mask24
		}
		if f.Packet != want || !slices.Equal(f.Ext, ext) || f.From != localMAC {
			t.Errorf("got  %+v %x\nwant %+v %x", f.Packet, f.Ext, want, ext)
		}
	})
}

// A truncated frame is an error unless only padding is missing. A flipped bit is an error
// wherever a checksum covers it. Nothing panics.
func TestCorruptedFrames(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		p, ext, m := sample(t)
		b := Append(nil, localMAC, peerMAC, &p, ext, m)
		var f Frame
		checksummed := !p.Control() && p.Kind() != packet.Barrier
		for n := range len(b) {
			if err := f.Decode(b[:n:n]); err == nil && checksummed && n < 14+int(binary.BigEndian.Uint16(b[16:])) {
				t.Fatalf("%d of %d B decode as a frame", n, len(b))
			}
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		err := f.Decode(b)
		if end := 14; checksummed && at >= end && at < end+int(binary.BigEndian.Uint16(b[16:])) && err == nil && at != 14+20+8+4 {
			t.Fatalf("a flipped bit in byte %d of %d is not detected", at, len(b))
		}
	})
}

func FuzzDecode(f *testing.F) {
	pause := packet.Packet{}
	pause.SetPFC(3, 1, 9)
	ack := packet.Packet{Flow: 7, Seq: 3, Meta: packet.MakeMeta(packet.Ack, 0), Flags: packet.Extended}
	data := packet.Packet{Flow: 7, Seq: 2, Size: 90, Meta: packet.MakeMeta(packet.Data, 3), Flags: packet.Telemetry | packet.Extended}
	loop := packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Loop, 0)}
	barrier := packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Barrier, 3)}
	tcp := &Message{Size: 2500, Payload: 1000, Header: 48, TCP: true, Selective: true}
	hdr := packet.Ext{1<<56 | 1<<32, 5, 1 << 48}
	for _, c := range []struct {
		p   *packet.Packet
		ext packet.Ext
		m   *Message
	}{
		{&pause, nil, nil}, {&pause, hdr, nil}, {&pause, packet.Ext{1, 2}, nil}, {&loop, hdr, nil}, {&loop, packet.Ext{1 << 63}, nil}, {&barrier, nil, nil},
		{&data, packet.Ext{1, 2}, flow()}, {&ack, packet.Ext{1 << 40}, flow()}, {&ack, packet.Ext{1<<56 | 1, 5 | 6<<32}, tcp}, {&data, nil, tcp},
	} {
		b := Append(nil, localMAC, peerMAC, c.p, c.ext, c.m)
		f.Add(b)
		f.Add(AppendTrailer(b, c.p, c.ext, c.m, 5))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var f Frame
		if err := f.Decode(b); err != nil {
			return
		}
		if len(f.Ext) > len(b)/4 || f.Payload > len(b) || !f.Trailed && int(f.Packet.Size) != len(b)+FCSLen {
			t.Errorf("inconsistent frame decoded from %[2]d B: %+[1]v", f, len(b))
		}
		f.More(func(p *packet.Packet) {
			if _, pause, _ := p.PFC(); pause == 0 {
				t.Error("a PAUSE without classes")
			}
		})
		if f.TCP != nil {
			_ = f.Number(1000)
		}
	})
}
