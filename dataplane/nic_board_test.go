package dataplane

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// counts are the counters of a board: packets in flight, lost, SACKed.
type counts struct{ pipe, lost, sacked uint32 }

func (b *board) counts() counts { return counts{b.pipe, b.lost, b.sacked} }

func (b *board) expect(t *testing.T, after string, want counts) {
	t.Helper()
	if got := b.counts(); got != want {
		t.Errorf("after %s: %+v, want %+v", after, got, want)
	}
}

// sent returns a board after the transmission of packets 0..n-1, one per microsecond.
func sent(n uint32, r Recovery) *board {
	b := &board{}
	b.start(r == SACK)
	for i := range n {
		b.noteSent(units.Time(i)*units.Microsecond, i, 0, false, true)
	}
	return b
}

// RFC 6675: a packet is lost when three later ones are SACKed (section 4, IsLost). pipe counts
// packets that are neither SACKed nor lost, and retransmissions (SetPipe). Of ten packets, 1 and 5
// are lost, then 9, and 5 a second time.
func TestScoreboard(t *testing.T) {
	b := sent(10, SACK)
	b.expect(t, "ten packets", counts{10, 0, 0})
	take := func(what string, from, to uint32, lost bool, want counts) {
		t.Helper()
		una := uint32(1)
		if n := b.applyBlock(from, to, false); n != 1 {
			t.Errorf("%s: %d new packets, want 1", what, n)
		}
		if got := b.detect(una, dupThreshold); got != lost {
			t.Errorf("%s: loss detected: %v", what, got)
		}
		b.expect(t, what, want)
	}
	if !b.arrived(0, true) {
		t.Error("packet 0 is not new")
	}
	b.expect(t, "the ACK of 0", counts{9, 0, 0})
	take("SACK 2", 2, 3, false, counts{8, 0, 1})
	take("SACK 2-3", 2, 4, false, counts{7, 0, 2})
	take("SACK 2-4", 2, 5, true, counts{5, 1, 3}) // three after 1: it is lost; 5 to 9 are in flight
	if got := b.nextLost(1); got != 1 {
		t.Errorf("packet %d is retransmitted, want 1", got)
	}
	b.noteSent(20*units.Microsecond, 1, 1, true, true)
	b.expect(t, "retransmission of 1", counts{6, 0, 3})
	if b.rtt(30*units.Microsecond, 1) != 0 || b.rtt(30*units.Microsecond, 7) != 23*units.Microsecond {
		t.Error("want no round-trip time of packet 1, which was retransmitted, and 23 us of packet 7") // Karn's algorithm
	}
	take("SACK 6", 6, 7, false, counts{5, 0, 4}) // one after 5
	take("SACK 6-7", 6, 8, false, counts{4, 0, 5})
	take("SACK 6-8", 6, 9, true, counts{2, 1, 6}) // three after 5: 1 (retransmission) and 9 are in flight
	for seq, fresh := range map[uint32]bool{1: true, 2: false, 3: false, 4: false} {
		if b.arrived(seq, true) != fresh {
			t.Errorf("packet %d: new is not %v", seq, fresh)
		}
	}
	b.expect(t, "the ACK of 1-4", counts{1, 1, 3}) // 9; 5; 6-8
	b.noteSent(40*units.Microsecond, 5, 5, true, true)
	b.expect(t, "retransmission of 5", counts{2, 0, 3})
	// After a timeout everything that is not SACKed is lost.
	for seq := uint32(5); seq < 10; seq++ {
		b.lose(seq)
	}
	b.expect(t, "a timeout", counts{0, 2, 3})
	for i, want := range []uint32{5, 9} {
		if got := b.nextLost(5); got != want {
			t.Errorf("packet %d is retransmitted, want %d", got, want)
		}
		b.noteSent(units.Time(50+i)*units.Microsecond, want, 5, true, true)
	}
	b.expect(t, "retransmission of 5 and 9", counts{2, 0, 3})
	for seq := uint32(5); seq < 10; seq++ {
		if fresh := seq == 5 || seq == 9; b.arrived(seq, true) != fresh {
			t.Errorf("packet %d: new is not %v", seq, fresh)
		}
	}
	b.expect(t, "the ACK of all", counts{0, 0, 0})
}

// TCP detects the loss of a retransmission when three packets sent after it have arrived. Packets
// sent before it do not count, wherever they are in the flow.
func TestScoreboardLostAgain(t *testing.T) {
	b := sent(8, SACK) // transmissions 0 to 7
	arrive := func(seq uint32, resent, lost bool, want counts) {
		t.Helper()
		b.cause, b.causeResent = seq, resent
		b.arrived(seq, false)
		if got := b.detect(0, dupThreshold); got != lost {
			t.Errorf("packet %d: loss detected: %v", seq, got)
		}
		b.expect(t, "an arrival", want)
	}
	arrive(2, false, false, counts{7, 0, 1})
	arrive(3, false, false, counts{6, 0, 2})
	arrive(4, false, true, counts{3, 2, 3}) // 0 and 1 are lost
	for seq := range uint32(2) {            // transmissions 8 and 9
		b.noteSent(20*units.Microsecond, seq, 0, true, true)
	}
	b.noteSent(20*units.Microsecond, 8, 0, false, true) // 10
	b.noteSent(20*units.Microsecond, 9, 0, false, true) // 11
	arrive(5, false, false, counts{6, 0, 4})
	arrive(6, false, false, counts{5, 0, 5})
	arrive(7, false, false, counts{4, 0, 6}) // all sent before the retransmissions
	arrive(8, false, false, counts{3, 0, 7})
	arrive(1, true, false, counts{2, 0, 8}) // the retransmission of 1 arrived: 9 and 10
	arrive(9, false, true, counts{0, 1, 9}) // 9, 10, 11: 0 is lost again
	b.noteSent(40*units.Microsecond, 0, 0, true, true)
	b.expect(t, "second retransmission of 0", counts{1, 0, 9})
}

// IRN (Mittal et al. 2018, section 3.1) considers a packet lost as soon as a later one is SACKed,
// and retransmits each once before the timeout.
func TestScoreboardIRN(t *testing.T) {
	b := sent(8, IRN)
	step := func(from, to, una uint32, all bool, fresh int, lost bool, want counts) {
		t.Helper()
		if n := b.applyBlock(from, to, all); n != fresh {
			t.Errorf("SACK %d-%d: %d new packets, want %d", from, to-1, n, fresh)
		}
		if got := b.detect(una, IRN.threshold()); got != lost {
			t.Errorf("SACK %d-%d: loss detected: %v", from, to-1, got)
		}
		b.expect(t, "SACK", want)
	}
	step(2, 3, 0, false, 1, true, counts{5, 2, 1}) // 0 and 1 are lost
	for _, seq := range []uint32{0, 1} {
		if got := b.nextLost(0); got != seq {
			t.Errorf("packet %d is retransmitted, want %d", got, seq)
		}
		b.noteSent(10*units.Microsecond, seq, 0, true, true)
	}
	b.expect(t, "retransmission of 0 and 1", counts{7, 0, 1})
	step(2, 4, 0, false, 1, false, counts{6, 0, 2}) // 0 and 1 are not considered lost a second time
	// The ACKs of 4 and 5 were lost. Block 2-6 is read downwards from 6 to the first known
	// packet.
	step(2, 7, 0, false, 3, false, counts{3, 0, 5}) // 6, 5, 4 are new, 3 is known
	if !b.arrived(0, true) {
		t.Error("packet 0 is not new")
	}
	b.expect(t, "the ACK of 0", counts{2, 0, 5}) // 1 (retransmission), 7
	// More lost ACKs: 9 is known, then a block covers 8-10.
	for seq := uint32(8); seq < 12; seq++ {
		b.noteSent(20*units.Microsecond, seq, 1, false, true)
	}
	b.expect(t, "8-11 sent", counts{6, 0, 5})
	step(9, 10, 1, false, 1, true, counts{3, 2, 6})  // 7 and 8 are lost
	step(8, 11, 1, false, 1, false, counts{2, 2, 7}) // 10 is new; 9 is known, so 8 is not checked
	step(8, 11, 1, true, 1, false, counts{2, 1, 8})  // all: 8 has arrived
	if got := b.nextLost(1); got != 7 {
		t.Errorf("packet %d is retransmitted, want 7", got)
	}
}

// The board grows with the window, from 64 packets, and keeps its state.
func TestScoreboardGrows(t *testing.T) {
	b := sent(10, SACK)
	for seq := range uint32(5) {
		b.arrived(seq, true)
	}
	b.applyBlock(7, 8, false)
	for seq := uint32(10); seq < 100; seq++ {
		b.noteSent(units.Time(seq)*units.Microsecond, seq, 5, false, true)
	}
	b.expect(t, "100 packets", counts{94, 0, 1}) // 5 to 99 without 7
	if *b.at(7) != pktSacked || *b.at(6) != pktInFlight || b.rtt(100*units.Microsecond, 6) != 94*units.Microsecond {
		t.Error("state of packets 6 and 7 lost by growing")
	}
}

// RFC 6298, section 2: the first measurement R gives SRTT = R, RTTVAR = R / 2; the
// next ones RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|, SRTT = 7/8 SRTT + 1/8 R.
func TestSmoothedRoundTrip(t *testing.T) {
	b := &board{}
	for i, c := range []struct{ rtt, srtt, rttvar units.Time }{
		{100_000, 100_000, 50_000},
		{60_000, 95_000, 47_500}, // 37,500 + 10,000; 87,500 + 7,500
		{95_000, 95_000, 35_625}, // 3/4 of 47,500
		{175_000, 105_000, 46_719},
	} {
		b.updateRTT(c.rtt)
		// Integer division rounds towards zero.
		if d := b.rttvar - c.rttvar; b.srtt != c.srtt || d > 1 || d < -1 {
			t.Errorf("measurement %d: %d and %d, want %d and %d", i, b.srtt, b.rttvar, c.srtt, c.rttvar)
		}
	}
}

// IRN, section 3.1: with few packets in flight the timeout is RTO_low, otherwise RTO_high.
func TestIRNTimeouts(t *testing.T) {
	n, tr := &NIC{}, &Transport{Recovery: IRN, LowTimeout: 100, LowPackets: 3}
	for _, c := range []struct {
		pipe uint32
		want units.Time
	}{{1, 100}, {2, 100}, {3, 320}, {50, 320}} {
		if got := n.timeoutOf(&qp{rto: 320, tr: tr, board: &board{pipe: c.pipe}}); got != c.want {
			t.Errorf("%d packets in flight: timeout %d, want %d", c.pipe, got, c.want)
		}
	}
}
