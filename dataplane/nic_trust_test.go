package dataplane

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
)

// A host that has sent packets 0 to 4 of flow 0 and gets flow 1 takes what can answer that,
// and nothing else.
func TestPossible(t *testing.T) {
	words := func(n int) packet.Ext { return make(packet.Ext, n) }
	const k = 1 << 56 // a block of a selective ACK
	for _, c := range []struct {
		name      string
		kind      packet.Kind
		flow, seq uint32
		ext       packet.Ext
		selective bool
		stamped   bool
		want      bool
	}{
		{name: "data of a flow to it", kind: packet.Data, flow: 1, seq: 9, want: true},
		{name: "data of its own flow", kind: packet.Data, flow: 0, want: false},
		{name: "telemetry that fits", kind: packet.Data, flow: 1, ext: words(telemetry.MaxWords), want: true},
		{name: "more telemetry than there is", kind: packet.Data, flow: 1, ext: words(telemetry.MaxWords + 1), want: false},
		{name: "ACK of the last packet", kind: packet.Ack, seq: 5, want: true},
		{name: "ACK of what was never sent", kind: packet.Ack, seq: 6, want: false},
		{name: "NACK of what was never sent", kind: packet.Nack, seq: 6, want: false},
		{name: "ACK of another's flow", kind: packet.Ack, flow: 1, want: false},
		{name: "ACK of a flow that is complete", kind: packet.Ack, flow: 2, seq: 99, want: true},
		{name: "a block of what was sent", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{1*k | 3, 4<<32 | 3}, want: true},
		{name: "a block that ends before it begins", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{1*k | 3, 3<<32 | 4}, want: false},
		{name: "a block of what was never sent", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{1*k | 3, 6<<32 | 3}, want: false},
		{name: "blocks that are not there", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{2*k | 3, 4<<32 | 3}, want: false},
		{name: "more blocks than any ACK has", kind: packet.Ack, seq: 1, selective: true, ext: append(packet.Ext{(maxBlocks + 1) * k}, words(maxBlocks+1)...), want: false},
		{name: "the stamp of before", kind: packet.Ack, seq: 1, stamped: true, ext: packet.Ext{100}, want: true},
		{name: "a stamp of the future", kind: packet.Ack, seq: 1, stamped: true, ext: packet.Ext{101}, want: false},
	} {
		flows := &Flows{Flow: []Flow{{Src: 3, Dst: 4}, {Src: 4, Dst: 3}, {Src: 3, Dst: 4}}, slot: []int32{1, 0, 0}}
		n := &NIC{flows: flows, id: 3, qps: make([]qp, 2)}
		n.qps[1].high, n.qps[1].way = 5, &Transport{selective: c.selective, stamped: c.stamped}
		p := packet.Packet{Flow: c.flow, Seq: c.seq, Meta: packet.MakeMeta(c.kind, 1)}
		if got := n.Possible(100, &p, c.ext); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
