package dataplane

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
)

// A host that has sent packets 0 to 4 of flow 0 and receives flow 1 accepts only packets that
// are consistent with that.
func TestPossible(t *testing.T) {
	words := func(n int) packet.Ext { return make(packet.Ext, n) }
	const k = 1 << 56 // one block of a selective ACK
	for _, c := range []struct {
		name      string
		kind      packet.Kind
		flow, seq uint32
		ext       packet.Ext
		selective bool
		stamped   bool
		want      bool
	}{
		{name: "data of a flow to the host", kind: packet.Data, flow: 1, seq: 9, want: true},
		{name: "data of the host's own flow", kind: packet.Data, flow: 0, want: false},
		{name: "telemetry that fits", kind: packet.Data, flow: 1, ext: words(telemetry.MaxWords), want: true},
		{name: "too much telemetry", kind: packet.Data, flow: 1, ext: words(telemetry.MaxWords + 1), want: false},
		{name: "ACK of the last packet", kind: packet.Ack, seq: 5, want: true},
		{name: "ACK of a packet never sent", kind: packet.Ack, seq: 6, want: false},
		{name: "NACK of a packet never sent", kind: packet.Nack, seq: 6, want: false},
		{name: "ACK of another host's flow", kind: packet.Ack, flow: 1, want: false},
		{name: "ACK of a complete flow", kind: packet.Ack, flow: 2, seq: 99, want: true},
		{name: "block of sent packets", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{1*k | 3, 4<<32 | 3}, want: true},
		{name: "block that ends before it starts", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{1*k | 3, 3<<32 | 4}, want: false},
		{name: "block of packets never sent", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{1*k | 3, 6<<32 | 3}, want: false},
		{name: "missing blocks", kind: packet.Ack, seq: 1, selective: true, ext: packet.Ext{2*k | 3, 4<<32 | 3}, want: false},
		{name: "too many blocks", kind: packet.Ack, seq: 1, selective: true, ext: append(packet.Ext{(maxBlocks + 1) * k}, words(maxBlocks+1)...), want: false},
		{name: "time stamp in the past", kind: packet.Ack, seq: 1, stamped: true, ext: packet.Ext{100}, want: true},
		{name: "time stamp in the future", kind: packet.Ack, seq: 1, stamped: true, ext: packet.Ext{101}, want: false},
	} {
		flows := &Flows{Flow: []Flow{{Src: 3, Dst: 4}, {Src: 4, Dst: 3}, {Src: 3, Dst: 4}}, slot: []int32{1, 0, 0}}
		n := &NIC{flows: flows, id: 3, qps: make([]qp, 2)}
		n.qps[1].high, n.qps[1].tr = 5, &Transport{selective: c.selective, stamped: c.stamped}
		p := packet.Packet{Flow: c.flow, Seq: c.seq, Meta: packet.MakeMeta(c.kind, 1)}
		if got := n.Possible(100, &p, c.ext); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
