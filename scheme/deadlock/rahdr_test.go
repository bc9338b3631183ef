package deadlock

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
)

func TestHeaderByHand(t *testing.T) {
	h := Header{Op: OpRoute, Flags: raBuilt, Class: 5, T: Tuple{Rand: 0xdeadbeef, Sid: 0x1234, Qid: 0x0102, Hop: 3, Valid: true}, Round: 7, Nodes: []NodeID{{1, 2, 3}}}
	// 04, flags 1 << 3 | 5 = 0d, hop 03, varLen 01, sid, qid; rand, round; node.
	want := packet.Ext{0x040d030112340102, 0xdeadbeef00000007, 0x0001000200030000}
	got := h.Append(nil)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%x, want %x", got, want)
	}
	back, rest, ok := decodeHeader(append(got, 42), nil)
	if !ok || !reflect.DeepEqual(back, h) || len(rest) != 1 || rest[0] != 42 {
		t.Errorf("%+v, rest %x, %t", back, rest, ok)
	}
	if n := h.size(); n != 64 { // 18 + 8 x 3 = 42, the smallest frame has 64
		t.Errorf("a frame of %d B, want 64", n)
	}
}

func TestHeaderRejects(t *testing.T) {
	for name, ext := range map[string]packet.Ext{
		"nothing":       {},
		"half":          {0x0100000000010001},
		"opcode 0":      {0x0000000000010001, 0},
		"opcode 9":      {0x0900000000010001, 0},
		"flags":         {0x0180000000010001, 0},
		"too far":       {0x0100410000010001, 0},
		"missing nodes": {0x0400000200010001, 0, 0x0001000100010000},
		"long list":     {0x0400004100010001, 0},
		"padding":       {0x0400000100010001, 0, 1},
	} {
		if _, _, ok := decodeHeader(ext, nil); ok {
			t.Errorf("%s is taken for a header", name)
		}
	}
}

// Whatever comes is either refused or written back as it came.
func FuzzHeader(f *testing.F) {
	f.Add(uint64(0x040d030112340102), uint64(7), uint64(0x0001000200030000))
	f.Add(uint64(0x0100000000010001), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, a, b, c uint64) {
		ext := packet.Ext{a, b, c}
		h, rest, ok := decodeHeader(ext, nil)
		if !ok {
			return
		}
		if got := append(h.Append(nil), rest...); !reflect.DeepEqual(got, ext) {
			t.Errorf("%x becomes %x", ext, got)
		}
	})
}
