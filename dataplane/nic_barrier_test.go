package dataplane

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
)

// A host accepts a barrier without looking up its flow: flow 9999 does not exist.
func TestHostTakesBarrier(*testing.T) {
	p := packet.Packet{Flow: 9999, To: packet.NoNode, Size: 64, Meta: packet.MakeMeta(packet.Barrier, 1)}
	new(NIC).accept(0, &p, nil)
}
