package dataplane

import "github.com/xoff-net/xoff/base/units"

// States of a packet that was sent and is not acknowledged in order.
const (
	underWay uint8 = iota
	deemedLost
	sentAgain // and under way
	sacked    // acknowledged out of order
)

// board is what a sender remembers of single packets: when each was sent and,
// for selective repeat, what became of it (the scoreboard of RFC 6675). Packets
// from the first unacknowledged one on have a place.
type board struct {
	sent  []units.Time // by packet modulo length: first bit on the wire, plus one; 0: sent again
	state []uint8      // the same; empty with go-back-N
	held  uint32       // packets that are SACKed
	pipe  uint32       // packets in the network, as far as known
	lost  uint32       // packets that are deemed lost and not sent again yet
	first uint32       // no lost packet comes before this one
	peak  uint32       // the highest packet ever SACKed, plus one
	// Transmissions are numbered. A network that keeps the order has lost what was
	// sent before several that arrived, whether it was sent first or again: the rule
	// of RFC 6675 on transmissions instead of packets, which finds out when a packet
	// is lost once more (as RFC 8985 does by time).
	number []uint32             // by packet modulo length: its last transmission; unnumbered: not followed
	order  []uint32             // by number modulo length: its packet
	oldest uint32               // transmissions before this one were looked at for loss
	newest uint32               // transmissions so far
	top    [dupThreshold]uint32 // the last transmissions that arrived, falling, each plus one
	cause  uint32               // packet that caused the ACK at hand
	again  bool                 // and its transmission was not the first
	follow bool                 // packets that are sent again are followed

	recover uint32 // recovery lasts until all before this packet is acknowledged
	srtt    units.Time
	vary    units.Time // RTTVAR of RFC 6298
}

// dupThreshold is how many packets after a missing one must have arrived before
// TCP takes it for lost (RFC 6675, DupThresh).
const dupThreshold = 3

// unnumbered is no transmission.
const unnumbered = 1<<32 - 1

// start empties the board for a new flow.
func (b *board) start(follow bool) {
	*b = board{sent: b.sent, state: b.state, number: b.number, order: b.order, follow: follow}
}

// note remembers a packet that is sent now.
func (b *board) note(now units.Time, seq, una uint32, again, selective bool) {
	if need := seq - una + 1; need > uint32(len(b.sent)) {
		b.grow(seq, una, need, selective)
	}
	at := seq & uint32(len(b.sent)-1)
	b.sent[at] = now + 1
	if again {
		b.sent[at] = 0
	}
	if !selective {
		return
	}
	b.pipe++
	b.state[at], b.number[at] = underWay, unnumbered
	if again {
		b.state[at] = sentAgain
		b.lost--
	}
	if !again || b.follow {
		b.number[at] = b.transmit(seq)
	}
}

// transmit numbers a transmission.
func (b *board) transmit(seq uint32) uint32 {
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

// rtt returns how long ago a packet was sent, 0 when it was sent more than once.
func (b *board) rtt(now units.Time, seq uint32) units.Time {
	if t := b.sent[seq&uint32(len(b.sent)-1)]; t > 0 {
		return now - (t - 1)
	}
	return 0
}

func (b *board) at(seq uint32) *uint8 { return &b.state[seq&uint32(len(b.state)-1)] }

// arrived notes that a packet has arrived and reports whether that is news. The
// state of a packet that is acknowledged in order does not matter any more.
func (b *board) arrived(seq uint32, inOrder bool) bool {
	s := b.at(seq)
	was := *s
	// Nobody knows which transmission of several arrived, unless the ACK says so.
	if was == underWay || was == sentAgain && b.again && seq == b.cause {
		if n := b.number[seq&uint32(len(b.number)-1)]; n != unnumbered {
			b.climb(n + 1)
		}
	}
	switch was {
	case underWay, sentAgain:
		b.pipe--
	case deemedLost:
		b.lost--
	}
	switch {
	case inOrder && was == sacked:
		b.held--
	case !inOrder && was != sacked:
		b.held++
		*s = sacked
		b.peak = max(b.peak, seq+1)
	}
	return was != sacked
}

// climb keeps the last transmissions that arrived.
func (b *board) climb(n uint32) {
	for i := range b.top {
		if n > b.top[i] {
			n, b.top[i] = b.top[i], n
		}
	}
}

// selected takes the packets from..to that a block of an ACK names and returns
// how many are news. Blocks grow at their upper end: what comes before a known
// packet is known, unless ACKs were lost, which the count of all tells.
func (b *board) selected(from, to uint32, all bool) int {
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

// lose takes a packet for lost.
func (b *board) lose(seq uint32) {
	s := b.at(seq)
	if *s != underWay && *s != sentAgain {
		return
	}
	*s = deemedLost
	b.pipe--
	b.lost++
	b.first = min(b.first, seq)
}

// detect takes packets for lost after whose transmission so many others arrived,
// and reports whether there are any.
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

// nextLost returns the first packet that is deemed lost.
func (b *board) nextLost(una uint32) uint32 {
	s := max(b.first, una)
	for *b.at(s) != deemedLost {
		s++
	}
	b.first = s
	return s
}

// measured takes a round-trip time into account (RFC 6298, section 2).
func (b *board) measured(rtt units.Time) {
	if b.srtt == 0 {
		b.srtt, b.vary = rtt, rtt/2
		return
	}
	off := b.srtt - rtt
	if off < 0 {
		off = -off
	}
	b.vary += (off - b.vary) / 4
	b.srtt += (rtt - b.srtt) / 8
}
