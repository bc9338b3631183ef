package dataplane

import (
	"unsafe"

	"github.com/xoff-net/xoff/base/units"
)

// Flow is one message to be carried from host to host.
type Flow struct {
	Start     units.Time  // at the earliest, if it waits for others
	Size      units.Bytes // payload
	Src, Dst  uint16      // node numbers of the hosts
	Class     uint8
	Transport uint8  // index into NICSpec.Transports
	Pinned    bool   // has routes of its own
	Hash      uint32 // entropy of the five-tuple
}

// Flows is the table of all flows of a run. The flows are read-only; every other
// field of an entry is written by one host only, the one its comment names, so
// hosts can run in parallel.
type Flows struct {
	Flow []Flow
	Send []SendResult // by the source
	Recv []RecvResult // by the destination
	slot []int32      // by the source: queue pair of an active flow
	// given is, by the destination, how many bytes the application got; nil unless
	// invariants are checked.
	given []units.Bytes
	wait  *waits // nil when no flow waits for another
}

// SendResult is what the source knows about a flow.
type SendResult struct {
	Acked    units.Time // when the last ACK arrived; 0 while unfinished
	Resent   uint32     // data packets sent again
	Timeouts uint32
}

// RecvResult is the state and the result of a flow at its destination, with what
// every packet asks of the flow itself: one cache line.
type RecvResult struct {
	Delivered units.Time // when the last byte arrived in order; 0 while unfinished
	lastCNP   units.Time // when the last CNP was sent, plus one; 0 when none
	lastNack  units.Time
	size      units.Bytes // of the flow
	Next      uint32      // packet number expected next
	nacked    uint32      // packet number of the last NACK, plus one
	Early     uint32      // packets that arrived ahead of a gap
	Twice     uint32      // packets that had arrived before
	held      int32       // place in NIC.reorder, 0: nothing came out of order
	unacked   uint16      // packets since the last ACK
	src       uint16      // of the flow
	way       uint8       // its transport
	marked    bool        // of the last packet in order
	_         [6]byte
}

var _ = [1]struct{}{}[unsafe.Sizeof(RecvResult{})-64]

// NewFlows prepares the table.
func NewFlows(flows []Flow) *Flows {
	all := &Flows{Flow: flows, Send: make([]SendResult, len(flows)), Recv: make([]RecvResult, len(flows)), slot: make([]int32, len(flows))}
	for i := range flows {
		r := &all.Recv[i]
		r.size, r.src, r.way = flows[i].Size, flows[i].Src, flows[i].Transport
	}
	return all
}

// Done reports whether a flow is complete: delivered, and its source knows it.
func (f *Flows) Done(i int) bool { return f.Send[i].Acked != 0 }
