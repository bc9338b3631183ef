package deadlock

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
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
	if n := (&Header{Flags: raBuilt | 5<<raSlow}).slow(); n != 5 {
		t.Errorf("slow is %d, want 5", n)
	}
	if n := h.size(); n != 64 { // 18 + 8 x 3 = 42; the smallest frame is 64 B
		t.Errorf("a frame of %d B, want 64", n)
	}
}

func TestHeaderRejects(t *testing.T) {
	for name, ext := range map[string]packet.Ext{
		"nothing":       {},
		"one word":      {0x0100000000010001},
		"opcode 0":      {0x0000000000010001, 0},
		"opcode 9":      {0x0900000000010001, 0},
		"flags":         {0x0180000000010001, 0},
		"too far":       {0x0100410000010001, 0},
		"missing nodes": {0x0400000200010001, 0, 0x0001000100010000},
		"long list":     {0x0400004100010001, 0},
		"padding":       {0x0400000100010001, 0, 1},
	} {
		if _, _, ok := decodeHeader(ext, nil); ok {
			t.Errorf("%s is accepted as a header", name)
		}
	}
}

// Any input is either rejected or written back unchanged.
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

// The upstream spends for a frame what the downstream charges: 1,088 B in cells of 208 B are 6 x
// 208 = 1,248 B, and with 16 B per packet 1,264 B.
func TestCreditCountsAsTheDownstream(t *testing.T) {
	for _, c := range []struct {
		cell, per units.Bytes
		frame     uint16
		want      uint64
	}{{1, 0, 1088, 1088}, {208, 0, 1088, 1248}, {208, 16, 1088, 1264}, {1, 48, 1088, 1136}, {4096, 4096, 64, 8192}} {
		n := unit(mmu.NewLedger(mmu.Spec{Ports: 1, Cell: c.cell, PerPacket: c.per}).View())
		r := raRound{cell: units.Bytes(n.Switch), perFrame: units.Bytes(n.In)}
		if got := r.costs(&packet.Packet{Size: c.frame}); got != c.want {
			t.Errorf("cells of %d B, %d B per packet: %d B cost %d, want %d", c.cell, c.per, c.frame, got, c.want)
		}
	}
}

// 10 us around the loop are far below retry, 50 us. 40 us are not: 1.5 x 40 us = 60 us, so the
// wait is 100 us. 900 us need 1,350 us: 1.6 ms. Beyond the timeout, 2 ms, the wait stays at 3.2
// ms.
func TestAnswersSayHowLongToWait(t *testing.T) {
	h := roundabout{params: *defaultRoundabout().(*RoundaboutParams)}
	for _, c := range []struct{ took, want units.Time }{
		{10 * units.Microsecond, 50 * units.Microsecond}, {33 * units.Microsecond, 50 * units.Microsecond},
		{40 * units.Microsecond, 100 * units.Microsecond}, {900 * units.Microsecond, 1600 * units.Microsecond},
		{9 * units.Millisecond, 3200 * units.Microsecond},
	} {
		asked := (1<<24 - 5) * units.Microsecond // the stamp wraps 5 us later
		var q raQueue
		h.answered(asked+c.took, &q, 7|stamp(asked)<<8)
		if got := h.wait(q.slow); got != c.want {
			t.Errorf("an answer after %s: waits %s, want %s", c.took, got, c.want)
		}
	}
}
