package dataplane

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
)

// A host takes a barrier without looking for its flow: this one has none at all.
func TestHostTakesBarrier(*testing.T) {
	p := packet.Packet{Flow: 9999, Dst: packet.NoNode, Size: 64, Meta: packet.MakeMeta(packet.Barrier, 1)}
	new(NIC).accept(0, &p, nil)
}
