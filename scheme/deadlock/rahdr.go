package deadlock

import "github.com/xoff-net/xoff/base/packet"

// Opcodes of ra_hdr (Roundabout Table I).
const (
	OpProbe    uint8 = 1 + iota // with a PAUSE: the advertised tuple
	OpInvalid                   // T_curr is invalid; printed form only
	OpAnnounce                  // a deadlock is confirmed
	OpRoute                     // route accumulation, upstream: the question of a candidate
	OpTable                     // the table of the loop, downstream
	OpCredit
	OpBarrier // a frame of the data class, see packet.Barrier
	OpCheck
)

// Flags of ra_hdr: five bits.
const (
	raBuilt    uint8     = 1 << iota // OpTable: the locks are final
	raAllBack                        // OpCheck
	raBelowXon                       // OpCheck
	raEnd                            // OpCheck: the round has ended
	raJoined                         // OpRoute: the path runs through several classes
	raGo       = raBuilt             // OpCheck: frames that missed their exit move on
	raSlow     = 1                   // OpTable: shift of a three-bit number, see slow
)

// NodeID is a switch in a loop, with the ports by which the loop enters and leaves it.
type NodeID struct{ Switch, In, Out uint16 }

// Header is ra_hdr. In the simulator it is a sequence of words attached to a frame:
//
//	word 0   opcode 8 | flags 5, class 3 | hop 8 | varLen 8 | sid 16 | qid 16
//	word 1   rand or credit 32 | round 32
//	then     varLen node ids: switch 16 | in 16 | out 16 | 0
//
// docs/deadlock.md has the wire format.
type Header struct {
	Op, Flags, Class uint8
	T                Tuple  // OpCredit: Rand is the credit
	Round            uint32 // round number of the coordinator T.Sid, T.Qid
	Nodes            []NodeID
}

// maxNodes is the longest loop that fits a header.
const maxNodes = MaxHop

// Append appends the header to ext.
func (h *Header) Append(ext packet.Ext) packet.Ext {
	ext = append(ext,
		uint64(h.Op)<<56|uint64(h.Flags<<3|h.Class&7)<<48|uint64(h.T.Hop)<<40|uint64(len(h.Nodes))<<32|uint64(h.T.Sid)<<16|uint64(h.T.Qid),
		uint64(h.T.Rand)<<32|uint64(h.Round))
	for _, n := range h.Nodes {
		ext = append(ext, uint64(n.Switch)<<48|uint64(n.In)<<32|uint64(n.Out)<<16)
	}
	return ext
}

// decodeHeader reads the first header of an extension and returns the rest of ext. Node ids are
// appended to nodes, which may be reused.
func decodeHeader(ext packet.Ext, nodes []NodeID) (h Header, rest packet.Ext, ok bool) {
	if len(ext) < 2 {
		return h, nil, false
	}
	w, v := ext[0], ext[1]
	h = Header{
		Op: uint8(w >> 56), Flags: uint8(w>>48) >> 3, Class: uint8(w>>48) & 7, Round: uint32(v),
		T: Tuple{Rand: uint32(v >> 32), Sid: uint16(w >> 16), Qid: uint16(w), Hop: uint8(w >> 40), Valid: true},
	}
	n := int(uint8(w >> 32))
	if h.Op < OpProbe || h.Op > OpCheck || h.Flags&raJoined != 0 && h.Op != OpRoute || h.T.Hop > MaxHop || n > maxNodes || len(ext) < 2+n {
		return h, nil, false
	}
	for _, w := range ext[2 : 2+n] {
		if uint16(w) != 0 {
			return h, nil, false
		}
		nodes = append(nodes, NodeID{uint16(w >> 48), uint16(w >> 32), uint16(w >> 16)})
	}
	h.Nodes = nodes
	return h, ext[2+n:], true
}

// slow returns how often the coordinator of a table doubled its wait for an answer.
func (h *Header) slow() uint8 { return h.Flags >> raSlow & maxSlow }

// size returns the size of a separate frame: Ethernet header, check sequence, and 8 B per word.
func (h *Header) size() uint16 {
	return max(uint16(packet.PFCSize), uint16(18+8*(2+len(h.Nodes))))
}
