package dataplane

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// A flow of 2500 B has packets of 1000, 1000 and 500 B. The test corrupts the state of the
// transport between packets, as a bug would.
func TestEachByteOnceAndInOrder(t *testing.T) {
	frame := func(seq uint32, size uint16) packet.Packet {
		return packet.Packet{Seq: seq, To: 1, Size: size, Meta: packet.MakeMeta(packet.Data, 1)}
	}
	for _, c := range []struct {
		name   string
		expect []uint32 // next packet in the state of the transport, before each packet
		frames []packet.Packet
		want   string // part of the first failure; empty: none
		broken uint64
	}{
		{"in order", []uint32{0, 1, 2}, []packet.Packet{frame(0, 1048), frame(1, 1048), frame(2, 548)}, "", 0},
		{"early and late packets rejected", []uint32{0, 1, 1, 1, 2}, []packet.Packet{frame(0, 1048), frame(2, 548), frame(0, 1048), frame(1, 1048), frame(2, 548)}, "", 0},
		{"duplicate", []uint32{0, 0}, []packet.Packet{frame(0, 1048), frame(0, 1048)}, "delivers byte 0 after 1000 bytes", 1},
		// Out of order, and considered complete after 1500 of 2500 B.
		{"gap", []uint32{0, 2}, []packet.Packet{frame(0, 1048), frame(2, 548)}, "delivers byte 2000 after 1000 bytes", 2},
		{"short packet", []uint32{0, 1}, []packet.Packet{frame(0, 1000), frame(1, 1048)}, "delivers byte 1000 after 952 bytes", 1},
		{"last packet too long", []uint32{0, 1, 2}, []packet.Packet{frame(0, 1048), frame(1, 1048), frame(2, 1048)}, "flow 0 of 2500 bytes has delivered 3000", 1},
	} {
		flows := NewFlows([]Flow{{Size: 2500, Src: 0, Dst: 1, Class: 1}})
		flows.delivered = make([]units.Bytes, 1)
		checks := NewChecks("host1")
		n := &NIC{node: node{ports: make([]port, 1), checks: checks, watched: true}, id: 1, flows: flows, transports: []Transport{{Payload: 1000, Header: 48, AckSize: 64, AckEvery: 1}}}
		for i := range c.frames {
			flows.Recv[0].Next = c.expect[i]
			n.data(units.Time(i), &c.frames[i], nil)
		}
		if checks.Broken != c.broken || !strings.Contains(checks.First, c.want) {
			t.Errorf("%s: %d violations, first %q; want %d, %q", c.name, checks.Broken, checks.First, c.broken, c.want)
		}
		// The source must not consider an incomplete flow finished.
		before := checks.Broken
		checks.finished(9, flows, 0)
		if complete := flows.delivered[0] == 2500; complete != (checks.Broken == before) {
			t.Errorf("%s: finished with %d B delivered, %d violations", c.name, flows.delivered[0], checks.Broken)
		}
	}
}
