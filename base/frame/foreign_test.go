package frame

import (
	"bytes"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// segment returns a TCP frame over IPv4 or IPv6, tagged or not, with its checksums.
func segment(t testing.TB, six bool, tag *layers.Dot1Q, tos uint8, payload int) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
	tcp := &layers.TCP{SrcPort: 40000, DstPort: 5201, Seq: 7, ACK: true, Window: 100}
	var ip gopacket.SerializableLayer
	var network gopacket.NetworkLayer
	kind := layers.EthernetTypeIPv4
	if six {
		kind = layers.EthernetTypeIPv6
		h := &layers.IPv6{Version: 6, TrafficClass: tos, NextHeader: layers.IPProtocolTCP, HopLimit: 64, SrcIP: bytes.Repeat([]byte{1}, 16), DstIP: bytes.Repeat([]byte{2}, 16)}
		ip, network = h, h
	} else {
		h := &layers.IPv4{Version: 4, TOS: tos, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}}
		ip, network = h, h
	}
	if err := tcp.SetNetworkLayerForChecksum(network); err != nil {
		t.Fatal(err)
	}
	all := []gopacket.SerializableLayer{eth}
	if eth.EthernetType = kind; tag != nil {
		eth.EthernetType, tag.Type = layers.EthernetTypeDot1Q, kind
		all = append(all, tag)
	}
	b := gopacket.NewSerializeBuffer()
	all = append(all, ip, tcp, gopacket.Payload(bytes.Repeat([]byte{0x5a}, payload)))
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Parsing, marking and checksums agree with an independent decoder and with checksums
// computed from scratch.
func TestForeignHeaders(t *testing.T) {
	for _, c := range []struct {
		name     string
		six      bool
		tag      *layers.Dot1Q
		tos      uint8
		dscp     uint8
		markable bool
	}{
		{"not ECN-capable", false, nil, 0, 0, false},
		{"ECN-capable (0), DSCP 26", false, nil, 26<<2 | 2, 26, true},
		{"ECN-capable (1), DSCP 63", false, nil, 63<<2 | 1, 63, true},
		{"already marked", false, nil, 3, 0, false},
		{"IPv6, ECN-capable (0), DSCP 10", true, nil, 10<<2 | 2, 10, true},
		{"IPv6, ECN-capable (1)", true, nil, 1, 0, true},
		{"tagged, PCP 5", false, &layers.Dot1Q{Priority: 5, VLANIdentifier: 7}, 4<<2 | 2, 4, true},
	} {
		b := segment(t, c.six, c.tag, c.tos, 101)
		var h Headers
		if err := h.Read(b); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if h.DSCP != c.dscp || h.markable() != c.markable || h.Tagged != (c.tag != nil) || c.tag != nil && h.PCP != 5 {
			t.Errorf("%s: %+v", c.name, h)
		}
		marked := bytes.Clone(b)
		h.setCE(marked)
		var again Headers
		if err := again.Read(marked); err != nil {
			t.Fatal(err)
		}
		if want := c.tos & 3; c.markable {
			if again.ECN != 3 || again.DSCP != c.dscp || again.Hash != h.Hash {
				t.Errorf("%s: after marking: %+v", c.name, again)
			}
		} else if again.ECN != want || !bytes.Equal(marked, b) {
			t.Errorf("%s: the frame was changed", c.name)
		}
		if !c.six && fold(sum(0, marked[h.IP:h.IP+ipLen])) != 0xffff {
			t.Errorf("%s: wrong IPv4 checksum", c.name)
		}
		// FillChecksum restores the TCP checksum, whatever was there; the header is in the last
		// 101 + 4 bytes.
		at := len(b) - 101 - 4
		blank := bytes.Clone(b)
		blank[at], blank[at+1] = 0x12, 0x34
		if !h.FillChecksum(blank) || !bytes.Equal(blank, b) {
			t.Errorf("%s: checksum %x, want %x", c.name, blank[at:at+2], b[at:at+2])
		}
	}
}

// Frames of different flows have different hashes; frames of one flow have the same.
func TestForeignHash(t *testing.T) {
	a, b := segment(t, false, nil, 0, 10), segment(t, false, nil, 26<<2|2, 900)
	other := bytes.Clone(a)
	other[ethernetLen+ipLen]++ // source port
	var x, y, z Headers
	for h, f := range map[*Headers][]byte{&x: a, &y: b, &z: other} {
		if err := h.Read(f); err != nil {
			t.Fatal(err)
		}
	}
	if x.Hash != y.Hash || x.Hash == z.Hash {
		t.Errorf("hashes %x, %x, %x", x.Hash, y.Hash, z.Hash)
	}
}

// A foreign frame that nodes forward arrives unchanged, except for an ECN mark, with its
// source and destination.
func TestForeignThereAndBack(t *testing.T) {
	host := rapid.Uint32Range(0, packet.MaxHosts-1)
	trials.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), ethernetLen, 2000).Draw(t, "frame")
		src, dst := host.Draw(t, "src"), rapid.OneOf(host, rapid.Just(packet.NoNode)).Draw(t, "dst")
		class := rapid.Uint8Range(0, 7).Draw(t, "class")
		due := rapid.Uint64().Draw(t, "due")
		var in, out Frame
		var h Headers
		if err := h.Read(b); err != nil {
			t.Fatal(err)
		}
		in.Foreign(&h, b, src, dst, class)
		p := in.Packet
		if got := unpackForeign(nil, in.Ext); !bytes.Equal(got, b) {
			t.Fatalf("packed %x, unpacked %x", b, got)
		}
		wire := AppendTrailer(Append(nil, MAC{}, MAC{}, &p, in.Ext, nil), &p, in.Ext, nil, due)
		if err := out.Decode(wire); err != nil {
			t.Fatal(err)
		}
		q := out.Packet
		if q.Kind() != packet.Foreign || q.Class() != class || q.Flow != src || q.Dst() != dst || q.Size != p.Size || q.Hash != p.Hash || out.Due != due {
			t.Fatalf("sent %+v, got %+v", p, q)
		}
		got := unpackForeign(nil, out.Ext)
		if !bytes.Equal(got[:len(b)], b) || len(got) != max(len(b), minLen) {
			t.Fatalf("sent %x, got %x", b, got)
		}
	})
}

// Invalid foreign frames and extensions are rejected.
func TestForeignRefused(t *testing.T) {
	var h Headers
	if err := h.Read(make([]byte, 13)); err != ErrShort {
		t.Error(err)
	}
	if err := h.Read(make([]byte, maxForeign+1)); err != ErrLong {
		t.Error(err)
	}
	for _, ext := range []packet.Ext{nil, {8}, {9, 1}, {maxForeign + 1}, {1 << 63, 0}} {
		if got := unpackForeign(nil, ext); len(got) != 0 {
			t.Errorf("%v: %x", ext, got)
		}
	}
}

// Parsing, marking and FillChecksum never access bytes outside the frame.
func FuzzForeign(f *testing.F) {
	f.Add(segment(f, false, nil, 2, 30))
	f.Add(segment(f, true, &layers.Dot1Q{Priority: 1}, 1, 3))
	f.Fuzz(func(_ *testing.T, b []byte) {
		var h Headers
		if h.Read(b) != nil {
			return
		}
		h.setCE(b)
		h.FillChecksum(b)
	})
}
