package dataplane

import (
	"unsafe"

	"github.com/xoff-net/xoff/base/units"
)

// Flow is one message from host to host.
type Flow struct {
	Start     units.Time  // earliest start if it waits for others
	Size      units.Bytes // payload
	Src, Dst  uint32      // node indexes of the hosts
	Class     uint8
	Transport uint8  // index into NICSpec.Transports
	Pinned    bool   // has its own routes
	Hash      uint32 // entropy of the five-tuple
}

// Flows is the table of all flows of a run. Flow is read-only. Each entry of the other fields is
// written only by the host named in its comment, so hosts can run in parallel.
type Flows struct {
	Flow []Flow
	Send []SendResult // written by the source
	Recv []RecvResult // written by the destination
	slot []int32      // written by the source: queue pair of an active flow; 0: none
	// delivered is written by the destination: bytes delivered to the application; nil unless
	// invariants are checked.
	delivered []units.Bytes
	wait      *waits // nil: no flow waits for another
}

// SendResult is the result of a flow at its source.
type SendResult struct {
	Acked    units.Time // when the last ACK arrived; 0 while unfinished
	Resent   uint32     // retransmitted data packets
	Timeouts uint32
}

// RecvResult is the state and result of a flow at its destination, with the properties of the
// flow that every packet needs. There is one for every flow of a run, so it is small; see recvMore.
type RecvResult struct {
	Delivered units.Time  // when the last byte arrived in order; 0 while unfinished
	size      units.Bytes // size of the flow
	Next      uint32      // next expected packet
	Early     uint32      // packets that arrived after a gap
	Twice     uint32      // duplicate packets
	more      int32       // index in NIC.more; 0: none
	src       uint32      // source of the flow
	unacked   uint16      // packets since the last ACK
	transport uint8       // index of its Transport
	marked    bool        // the last packet in order was marked
}

var _ = [1]struct{}{}[unsafe.Sizeof(RecvResult{})-40]

// recvMore is the state of a flow at its destination after its first mark or gap.
type recvMore struct {
	lastCNP  units.Time // when the last CNP was sent, plus one; 0: none
	lastNack units.Time
	nacked   uint32 // packet requested by the last NACK, plus one
	reorder  int32  // index in NIC.reorder; 0: nothing is stored out of order
}

// moreOf returns the recvMore of a flow, and allocates it if needed.
func (n *NIC) moreOf(r *RecvResult) *recvMore {
	if r.more == 0 {
		n.more = append(n.more, recvMore{})
		r.more = int32(len(n.more) - 1)
	}
	return &n.more[r.more]
}

// NewFlows returns the table for a list of flows.
func NewFlows(flows []Flow) *Flows {
	all := &Flows{Flow: flows, Send: make([]SendResult, len(flows)), Recv: make([]RecvResult, len(flows)), slot: make([]int32, len(flows))}
	for i := range flows {
		r := &all.Recv[i]
		r.size, r.src, r.transport = flows[i].Size, flows[i].Src, flows[i].Transport
	}
	return all
}

// Done reports whether a flow is complete: delivered, and acknowledged at its source.
func (f *Flows) Done(i int) bool { return f.Send[i].Acked != 0 }
