package route

import (
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
)

// table has hosts 0 and 1 on other edges, host 2 on none, and hosts 3 and 4 on the switch itself.
func table() *Table {
	return &Table{
		Homes: []Home{MakeHome(1, 1), MakeHome(2, 0), MakeHome(0, 3), MakeHome(3, 0), MakeHome(3, 1)},
		To:    []Hops{{}, {At: 4, Len: 1}, {At: 0, Len: 4}, {At: 5, Len: 1, Slots: EachSlot}}, Ports: []uint16{1, 2, 3, 4, 5, 6, 9},
		Pinned: map[uint32]uint16{9 << 1: 7, 9<<1 | 1: 8},
	}
}

func built(t *testing.T, build New, table *Table, seed uint64) Router {
	t.Helper()
	r, err := build(nil, Env{Table: table, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The hash is MurmurHash3's finalizer: 0 stays 0, and 1 becomes 0x514e28b7.
func TestMix(t *testing.T) {
	if Mix(0) != 0 || Mix(1) != 0x514e28b7 {
		t.Errorf("Mix(0) = %#x, Mix(1) = %#x", Mix(0), Mix(1))
	}
}

// With seed 0 and hash 1 the product 0x514e28b7 x 4 >> 32 is 1: the second port.
// With hash 0 it is the first.
func TestECMP(t *testing.T) {
	r := built(t, newECMP, table(), 0)
	for _, c := range []struct {
		p    packet.Packet
		want int
	}{
		{packet.Packet{To: 0, Hash: 77}, 5}, {packet.Packet{To: 1, Hash: 0}, 1}, {packet.Packet{To: 1, Hash: 1}, 2},
		{packet.Packet{To: 2}, -1}, {packet.Packet{To: 99}, -1}, {packet.Packet{To: 3, Hash: 77}, 6}, {packet.Packet{To: 4, Hash: 77}, 9},
		{packet.Packet{To: 1, Flow: 9, Flags: packet.Pinned}, 7},
		{packet.Packet{To: 1, Flow: 9, Flags: packet.Pinned, Meta: packet.MakeMeta(packet.Ack, 0)}, 8},
		{packet.Packet{To: 0, Flow: 8, Flags: packet.Pinned}, 5},
	} {
		if got := r.Route(0, 0, &c.p); got != c.want {
			t.Errorf("%+v goes to %d, want %d", c.p, got, c.want)
		}
	}
}

// 4000 flows over 4 ports: each within five standard deviations of 1000,
// sqrt(4000 x 1/4 x 3/4) = 27.4. Another seed gives another choice.
func TestECMPSpreads(t *testing.T) {
	a, b := built(t, newECMP, table(), 1), built(t, newECMP, table(), 2)
	var n [8]int
	same := 0
	for h := range uint32(4000) {
		p := packet.Packet{To: 1, Hash: h * 2654435761}
		port := a.Route(0, 0, &p)
		n[port]++
		if b.Route(0, 0, &p) == port {
			same++
		}
	}
	for port := 1; port <= 4; port++ {
		if n[port] < 1000-137 || n[port] > 1000+137 {
			t.Errorf("port %d takes %d of 4000 flows", port, n[port])
		}
	}
	if same < 1000-137 || same > 1000+137 {
		t.Errorf("routers of two seeds agree on %d of 4000 flows, want about a quarter", same)
	}
}

func TestSprayAndStatic(t *testing.T) {
	p := packet.Packet{To: 1, Hash: 3}
	r := built(t, newSpray, table(), 0)
	first := r.Route(0, 0, &p)
	ack := packet.Packet{To: 1, Hash: 3, Meta: packet.MakeMeta(packet.Ack, 0)}
	other := packet.Packet{To: 0, Hash: 3}
	back := r.Route(0, 0, &ack)
	for i := 1; i < 9; i++ { // in turn, whatever else passes
		if got, want := r.Route(0, 0, &p), (first-1+i)%4+1; got != want {
			t.Errorf("packet %d goes to %d, want %d", i, got, want)
		}
		if got, want := r.Route(0, 0, &ack), (back-1+i)%4+1; got != want {
			t.Errorf("ACK %d goes to %d, want %d", i, got, want)
		}
		r.Route(0, 0, &other)
	}
	s := built(t, newStatic, table(), 0)
	s.Replace(NewTable(3))
	if got := s.Route(0, 0, &p); got != 1 {
		t.Errorf("static goes to %d, want 1 always", got)
	}
	r.Replace(&Table{Homes: []Home{0, MakeHome(1, 0)}, To: []Hops{{}, {At: 0, Len: 1}}, Ports: []uint16{6}})
	if got := r.Route(0, 0, &p); got != 6 {
		t.Errorf("spray goes to %d after Replace, want 6", got)
	}
}

// Set has the ports of a set, or the port of one host on the switch itself.
func TestSet(t *testing.T) {
	for dst, want := range [][]uint16{{5}, {1, 2, 3, 4}, {}, {6}, {9}, {}} {
		if got := table().Set(uint32(dst)); !slices.Equal(got, want) {
			t.Errorf("ports to host %d: %v, want %v", dst, got, want)
		}
	}
}
