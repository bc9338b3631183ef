package dataplane

import "github.com/xoff-net/xoff/base/units"

// States of a packet that was sent but not acknowledged in order.
const (
	pktInFlight uint8 = iota
	pktLost
	pktResent // in flight as a retransmission
	pktSacked // acknowledged out of order
)

// board is the sender's record of single packets: when each was sent and, with selective repeat,
// its state (the scoreboard of RFC 6675). It covers packets from the first unacknowledged one on.
type board struct {
	sent   []units.Time // by packet modulo length: time of the first bit, plus one; 0: retransmitted
	state  []uint8      // by packet modulo length; empty with go-back-N
	sacked uint32       // packets that are SACKed
	pipe   uint32       // packets estimated to be in flight
	lost   uint32       // packets considered lost and not yet retransmitted
	first  uint32       // no lost packet precedes this one
	peak   uint32       // highest packet ever SACKed, plus one
	// Transmissions are numbered, retransmissions included. The network keeps the order, so a
	// transmission is lost if several later ones have arrived. This applies RFC 6675 to
	// transmissions instead of packets; it also detects lost retransmissions, which RFC 8985
	// does by time.
	number      []uint32             // by packet modulo length: its last transmission; unnumbered: not tracked
	order       []uint32             // by transmission modulo length: its packet
	oldest      uint32               // earlier transmissions have been checked for loss
	newest      uint32               // number of transmissions so far
	top         [dupThreshold]uint32 // highest transmissions that arrived, in descending order, each plus one
	cause       uint32               // packet that caused the current ACK
	causeResent bool                 // cause was a retransmission
	track       bool                 // retransmissions are numbered too

	recover uint32     // recovery lasts until all packets before this one are acknowledged
	srtt    units.Time // SRTT of RFC 6298
	rttvar  units.Time // RTTVAR of RFC 6298
}

// dupThreshold is the number of later packets that must arrive before TCP considers a packet
// lost (DupThresh of RFC 6675).
const dupThreshold = 3

// unnumbered marks a packet whose last transmission is not tracked.
const unnumbered = 1<<32 - 1

// start resets the board for a new flow.
func (b *board) start(track bool) {
	*b = board{sent: b.sent, state: b.state, number: b.number, order: b.order, track: track}
}

// noteSent records that a packet is sent now.
func (b *board) noteSent(now units.Time, seq, una uint32, resent, selective bool) {
	if need := seq - una + 1; need > uint32(len(b.sent)) {
		b.grow(seq, una, need, selective)
	}
	at := seq & uint32(len(b.sent)-1)
	b.sent[at] = now + 1
	if resent {
		b.sent[at] = 0
	}
	if !selective {
		return
	}
	b.pipe++
	b.state[at], b.number[at] = pktInFlight, unnumbered
	if resent {
		b.state[at] = pktResent
		b.lost--
	}
	if !resent || b.track {
		b.number[at] = b.numberTx(seq)
	}
}

// numberTx assigns the next number to a transmission.
func (b *board) numberTx(seq uint32) uint32 {
	if size := uint32(len(b.order)); b.newest-b.oldest == size {
		order := make([]uint32, max(64, 2*size))
		for i := b.oldest; i != b.newest; i++ {
			order[i&uint32(len(order)-1)] = b.order[i&(size-1)]
		}
		b.order = order
	}
	n := b.newest
	b.order[n&uint32(len(b.order)-1)] = seq
	b.newest++
	return n
}

func (b *board) grow(seq, una, need uint32, selective bool) {
	size := uint32(64)
	for size < need {
		size *= 2
	}
	sent := make([]units.Time, size)
	var state []uint8
	var number []uint32
	if selective {
		state, number = make([]uint8, size), make([]uint32, size)
	}
	if old := uint32(len(b.sent)); old > 0 {
		for s := una; s < seq; s++ {
			sent[s&(size-1)] = b.sent[s&(old-1)]
			if selective {
				state[s&(size-1)], number[s&(size-1)] = b.state[s&(old-1)], b.number[s&(old-1)]
			}
		}
	}
	b.sent, b.state, b.number = sent, state, number
}

// rtt returns the time since a packet was sent, or 0 if it was retransmitted.
func (b *board) rtt(now units.Time, seq uint32) units.Time {
	if t := b.sent[seq&uint32(len(b.sent)-1)]; t > 0 {
		return now - (t - 1)
	}
	return 0
}

func (b *board) at(seq uint32) *uint8 { return &b.state[seq&uint32(len(b.state)-1)] }

// arrived records the arrival of a packet and returns false if it was already known. The state
// of a packet that is acknowledged in order is no longer needed.
func (b *board) arrived(seq uint32, inOrder bool) bool {
	s := b.at(seq)
	was := *s
	// If a packet was retransmitted, only the ACK can tell which transmission arrived.
	if was == pktInFlight || was == pktResent && b.causeResent && seq == b.cause {
		if n := b.number[seq&uint32(len(b.number)-1)]; n != unnumbered {
			b.noteArrival(n + 1)
		}
	}
	switch was {
	case pktInFlight, pktResent:
		b.pipe--
	case pktLost:
		b.lost--
	}
	switch {
	case inOrder && was == pktSacked:
		b.sacked--
	case !inOrder && was != pktSacked:
		b.sacked++
		*s = pktSacked
		b.peak = max(b.peak, seq+1)
	}
	return was != pktSacked
}

// noteArrival updates the highest transmissions that arrived.
func (b *board) noteArrival(n uint32) {
	for i := range b.top {
		if n > b.top[i] {
			n, b.top[i] = b.top[i], n
		}
	}
}

// applyBlock records the arrival of the packets from..to-1 of a SACK block and returns how many
// were not known. Blocks grow at their upper end, so the packets before a known one are known
// too, unless ACKs were lost. Then the sender calls it again with all set.
func (b *board) applyBlock(from, to uint32, all bool) int {
	n := 0
	for s := to; s > from; s-- {
		if b.arrived(s-1, false) {
			n++
		} else if !all {
			break
		}
	}
	return n
}

// lose marks a packet as lost.
func (b *board) lose(seq uint32) {
	s := b.at(seq)
	if *s != pktInFlight && *s != pktResent {
		return
	}
	*s = pktLost
	b.pipe--
	b.lost++
	b.first = min(b.first, seq)
}

// detect marks packets as lost if threshold later transmissions have arrived. It reports
// whether there are any.
func (b *board) detect(una uint32, threshold int) bool {
	before := b.lost
	for ; b.oldest+1 < b.top[threshold-1]; b.oldest++ {
		seq := b.order[b.oldest&uint32(len(b.order)-1)]
		if seq >= una && b.number[seq&uint32(len(b.number)-1)] == b.oldest {
			b.lose(seq)
		}
	}
	return b.lost > before
}

// nextLost returns the first lost packet.
func (b *board) nextLost(una uint32) uint32 {
	s := max(b.first, una)
	for *b.at(s) != pktLost {
		s++
	}
	b.first = s
	return s
}

// updateRTT adds a round-trip sample (RFC 6298, section 2).
func (b *board) updateRTT(rtt units.Time) {
	if b.srtt == 0 {
		b.srtt, b.rttvar = rtt, rtt/2
		return
	}
	off := b.srtt - rtt
	if off < 0 {
		off = -off
	}
	b.rttvar += (off - b.rttvar) / 4
	b.srtt += (rtt - b.srtt) / 8
}
