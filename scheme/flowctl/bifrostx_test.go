package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// feedback starts the next slot and expects c_max, c_1, c_2 and F.
func (b *slotBench) feedback(all, one, two, virtual units.Bytes) {
	b.t.Helper()
	f, ext := b.turn()
	if f == nil || f.Kind() != packet.Feedback || f.Size != 64 || len(ext) != 9 {
		b.t.Fatalf("at %s: frame %+v with %d words", b.now, f, len(ext))
	}
	values := make([]float64, 5)
	b.recv.(*bifrostXReceiver).Measure(b.now, 0, 2, values)
	if units.Bytes(ext[0]) != all || units.Bytes(ext[2]) != one || units.Bytes(ext[3]) != two || units.Bytes(values[1]) != virtual {
		b.t.Errorf("at %s: c_max %d, c_1 %d, c_2 %d, F %.0f; want %d, %d, %d, %d", b.now, ext[0], ext[2], ext[3], values[1], all, one, two, virtual)
	}
	if units.Bytes(values[2]) != all || units.Bytes(values[3]) != two {
		b.t.Errorf("at %s: gauges are %v", b.now, values)
	}
}

// R_s T is 125,000 B, H 878,064 B, and F starts with 625,000 B (see slotBench).
func TestBifrostXByHand(t *testing.T) {
	b := newSlotBench(t, 0b110, "bifrostx", nil)
	b.feedback(125_000, 125_000, 125_000, 625_000)
	b.arrive(1, 100_000)
	b.arrive(2, 50_000)
	b.feedback(103_064, 25_000, 75_000, 603_064) // 878,064 - 150,000 - 625,000
	b.leave(2, 50_000)
	b.feedback(125_000, 125_000, 125_000, 603_064) // 778,064 - 603,064 = 175,000; shrinking queues are not limited
	b.arrive(1, 130_000)
	b.feedback(45_000, 0, 125_000, 523_064) // 648,064 - 603,064; class 1 grew by more than a slot
	b.arrive(2, 125_000)
	b.feedback(0, 125_000, 0, 398_064) // 523,064 - 523,064
}

// Tokens are counted in each slot; up to a frame is carried over.
func TestBifrostXGateByHand(t *testing.T) {
	p := longPort(0b110)
	e, err := Schemes.Get("bifrostx")
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.New(e.Params())
	if err != nil {
		t.Fatal(err)
	}
	g := s.Gate(p).(*bifrostXGate)
	tell := func(all, one, two uint64) {
		f := packet.Packet{Meta: packet.MakeMeta(packet.Feedback, 0)}
		g.Control(0, &f, packet.Ext{all, 0, one, two, 0, 0, 0, 0, 0})
	}
	send := func(class uint8, b units.Bytes, want bool) {
		t.Helper()
		if got := g.May(0, class, b); got != want {
			t.Errorf("class %d may send %d B: %v (tokens: link %d, class %d)", class, b, got, g.left, g.classes[class])
		}
		if want {
			g.Sent(0, class, b)
		}
	}
	send(1, 1500, true) // full slots before the first feedback: 125,000 B
	g.Sent(0, 1, 123_000)
	send(1, 1500, false)
	g.Wake(10*us, 0)
	send(1, 1500, true)
	tell(4000, 1500, 9000) // the first feedback discards all old tokens
	send(1, 1500, true)
	send(1, 64, false)   // class 1 has no tokens left
	send(2, 1500, true)  // the link has 1000 B left
	send(2, 1500, false) // class 2 has 7500 B left, but the link has not
	tell(600, 200, 0)    // link 1000 + 600; class 1 has 200, class 2 min(7500, 1500)
	send(2, 1500, true)
	send(2, 64, false)
	tell(5000, 5000, 5000)
	p.waiting = 3000
	send(2, 2101, false) // 100 + 5000 B, but 3000 B wait in class 1
	send(2, 2100, true)
	p.waiting = 0
	g.Reset(0, true)
	send(1, 64, false)
	tell(1500, 1500, 1500)
	send(1, 1500, true)
}
