package frame

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// A frame with a trailer has all fields of a packet except the hash, which the flow knows.
func TestTrailer(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		p, ext, m := sample(t)
		p.Size = uint16(rapid.IntRange(64, 5000).Draw(t, "simulated"))
		if k := p.Kind(); k != packet.Data {
			p.Flags |= packet.Flags(rapid.Byte().Draw(t, "more")) & trailerFlags
		}
		due := rapid.Uint64().Draw(t, "due")
		switch k := p.Kind(); {
		case k == packet.PFC:
			for c := range uint8(8) {
				p.SetPauseDepth(c, rapid.IntRange(0, packet.MaxPauseDepth).Draw(t, "depth"))
			}
		case isTCP(k, m):
			ext = rapid.SliceOfN(rapid.Uint64(), 0, 9).Draw(t, "words")
			if len(ext) > 0 {
				ext[0] = ext[0]<<8>>8 | uint64(min(3, len(ext)-1))<<56
				p.Flags |= packet.Extended
			}
		case k == packet.Data || k == packet.Ack || k == packet.Nack:
			p.Seq |= uint32(rapid.Byte().Draw(t, "high")) << 24
			m.Size = 1 << 45
		}
		b := AppendTrailer(Append(nil, localMAC, peerMAC, &p, ext, m), &p, ext, m, due)
		var f Frame
		if err := f.Decode(b); err != nil {
			t.Fatalf("%v: %x", err, b)
		}
		want := p
		if isTCP(p.Kind(), m) {
			want.Hash = 0
		}
		if f.Packet != want || !slices.Equal(f.Ext, ext) || !f.Trailed || f.Due != due {
			t.Errorf("got  %+v %x due %d\nwant %+v %x due %d", f.Packet, f.Ext, f.Due, want, ext, due)
		}
	})
}

// Payload that looks like a trailer stays payload. A trailer that contradicts its headers
// is an error.
func TestNoTrailer(t *testing.T) {
	p := packet.Packet{Flow: 7, Seq: 1, Size: 1048, Meta: packet.MakeMeta(packet.Data, 3)}
	b := Append(nil, localMAC, peerMAC, &p, nil, flow())
	end := len(b) - icrcLen
	copy(b[end-trailerLen:end], AppendTrailer(nil, &p, nil, nil, 0))
	// The checksum is wrong now. Only a decoder that treats all of it as payload notices.
	var f Frame
	if err := f.Decode(b[:end:end]); err != ErrShort {
		t.Errorf("payload is decoded as a trailer: %v", err)
	}
	for i, c := range []struct {
		at   int // from the end
		with byte
	}{{5, 2}, {9, 0}, {10, 2}, {14, 1}, {15, byte(packet.CE)}} {
		b := AppendTrailer(Append(nil, localMAC, peerMAC, &p, nil, flow()), &p, nil, flow(), 0)
		if err := f.Decode(b); err != nil {
			t.Fatal(err)
		}
		b[len(b)-c.at] = c.with
		if err := f.Decode(b); err == nil {
			t.Errorf("%d: byte -%d is wrong and not detected", i, c.at)
		}
	}
}

func TestHello(t *testing.T) {
	var f Frame
	if err := f.Decode(AppendHello(nil, localMAC, []uint64{5, 1 << 63})); err != nil || !f.Hello || f.From != localMAC || !slices.Equal(f.Ext, packet.Ext{5, 1 << 63}) {
		t.Errorf("%+v, %v", f, err)
	}
}
