package dataplane

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// counts are what a board knows: packets in the network, deemed lost, SACKed.
type counts struct{ pipe, lost, held uint32 }

func (b *board) counts() counts { return counts{b.pipe, b.lost, b.held} }

func (b *board) expect(t *testing.T, after string, want counts) {
	t.Helper()
	if got := b.counts(); got != want {
		t.Errorf("after %s: %+v, want %+v", after, got, want)
	}
}

// sent is a board after the transmission of packets 0..n-1, one per microsecond.
func sent(n uint32, r Recovery) *board {
	b := &board{}
	b.start(r == SACK)
	for i := range n {
		b.note(units.Time(i)*units.Microsecond, i, 0, false, true)
	}
	return b
}

// RFC 6675: a packet is lost when three later ones are SACKed (section 4, IsLost);
// pipe counts what is neither SACKed nor lost, and what was sent again (SetPipe).
// Packets 1 and 5 of ten are lost, then 9, and 5 once more.
func TestScoreboard(t *testing.T) {
	b := sent(10, SACK)
	b.expect(t, "ten packets", counts{10, 0, 0})
	take := func(what string, from, to uint32, lost bool, want counts) {
		t.Helper()
		una := uint32(1)
		if n := b.selected(from, to, false); n != 1 {
			t.Errorf("%s: %d packets are news, want 1", what, n)
		}
		if got := b.detect(una, dupThreshold); got != lost {
			t.Errorf("%s: a loss is found: %v", what, got)
		}
		b.expect(t, what, want)
	}
	if !b.arrived(0, true) {
		t.Error("packet 0 is no news")
	}
	b.expect(t, "the ACK of 0", counts{9, 0, 0})
	take("SACK 2", 2, 3, false, counts{8, 0, 1})
	take("SACK 2-3", 2, 4, false, counts{7, 0, 2})
	take("SACK 2-4", 2, 5, true, counts{5, 1, 3}) // three after 1: it is lost; 5 to 9 are under way
	if got := b.nextLost(1); got != 1 {
		t.Errorf("packet %d is sent again, want 1", got)
	}
	b.note(20*units.Microsecond, 1, 1, true, true)
	b.expect(t, "1 again", counts{6, 0, 3})
	if b.rtt(30*units.Microsecond, 1) != 0 || b.rtt(30*units.Microsecond, 7) != 23*units.Microsecond {
		t.Error("a packet that was sent twice has a round-trip time, or packet 7 none of 23 us") // Karn's rule
	}
	take("SACK 6", 6, 7, false, counts{5, 0, 4}) // one after 5
	take("SACK 6-7", 6, 8, false, counts{4, 0, 5})
	take("SACK 6-8", 6, 9, true, counts{2, 1, 6}) // three after 5: 1 (again) and 9 are under way
	for seq, news := range map[uint32]bool{1: true, 2: false, 3: false, 4: false} {
		if b.arrived(seq, true) != news {
			t.Errorf("packet %d: news is not %v", seq, news)
		}
	}
	b.expect(t, "the ACK of 1-4", counts{1, 1, 3}) // 9; 5; 6-8
	b.note(40*units.Microsecond, 5, 5, true, true)
	b.expect(t, "5 again", counts{2, 0, 3})
	// A timeout takes all for lost that is not SACKed.
	for seq := uint32(5); seq < 10; seq++ {
		b.lose(seq)
	}
	b.expect(t, "a timeout", counts{0, 2, 3})
	for i, want := range []uint32{5, 9} {
		if got := b.nextLost(5); got != want {
			t.Errorf("packet %d is sent again, want %d", got, want)
		}
		b.note(units.Time(50+i)*units.Microsecond, want, 5, true, true)
	}
	b.expect(t, "5 and 9 again", counts{2, 0, 3})
	for seq := uint32(5); seq < 10; seq++ {
		if news := seq == 5 || seq == 9; b.arrived(seq, true) != news {
			t.Errorf("packet %d: news is not %v", seq, news)
		}
	}
	b.expect(t, "the ACK of all", counts{0, 0, 0})
}

// TCP finds out that a packet is lost once more when three packets arrived that were
// sent after it was sent again; packets of before say nothing, wherever they are in
// the flow.
func TestScoreboardLostAgain(t *testing.T) {
	b := sent(8, SACK) // transmissions 0 to 7
	arrive := func(seq uint32, again, lost bool, want counts) {
		t.Helper()
		b.cause, b.again = seq, again
		b.arrived(seq, false)
		if got := b.detect(0, dupThreshold); got != lost {
			t.Errorf("packet %d: a loss is found: %v", seq, got)
		}
		b.expect(t, "an arrival", want)
	}
	arrive(2, false, false, counts{7, 0, 1})
	arrive(3, false, false, counts{6, 0, 2})
	arrive(4, false, true, counts{3, 2, 3}) // 0 and 1 are lost
	for seq := range uint32(2) {            // transmissions 8 and 9
		b.note(20*units.Microsecond, seq, 0, true, true)
	}
	b.note(20*units.Microsecond, 8, 0, false, true) // 10
	b.note(20*units.Microsecond, 9, 0, false, true) // 11
	arrive(5, false, false, counts{6, 0, 4})
	arrive(6, false, false, counts{5, 0, 5})
	arrive(7, false, false, counts{4, 0, 6}) // all of before
	arrive(8, false, false, counts{3, 0, 7})
	arrive(1, true, false, counts{2, 0, 8}) // 1 arrived, the second time: 9 and 10
	arrive(9, false, true, counts{0, 1, 9}) // 9, 10, 11: 0 is lost again
	b.note(40*units.Microsecond, 0, 0, true, true)
	b.expect(t, "0 for the third time", counts{1, 0, 9})
}

// IRN (Mittal et al. 2018, section 3.1) takes a packet for lost as soon as a later
// one is SACKed, and resends each once before the timeout.
func TestScoreboardIRN(t *testing.T) {
	b := sent(8, IRN)
	step := func(from, to, una uint32, all bool, news int, lost bool, want counts) {
		t.Helper()
		if n := b.selected(from, to, all); n != news {
			t.Errorf("SACK %d-%d: %d packets are news, want %d", from, to-1, n, news)
		}
		if got := b.detect(una, IRN.threshold()); got != lost {
			t.Errorf("SACK %d-%d: a loss is found: %v", from, to-1, got)
		}
		b.expect(t, "SACK", want)
	}
	step(2, 3, 0, false, 1, true, counts{5, 2, 1}) // 0 and 1 are lost
	for _, seq := range []uint32{0, 1} {
		if got := b.nextLost(0); got != seq {
			t.Errorf("packet %d is sent again, want %d", got, seq)
		}
		b.note(10*units.Microsecond, seq, 0, true, true)
	}
	b.expect(t, "0 and 1 again", counts{7, 0, 1})
	step(2, 4, 0, false, 1, false, counts{6, 0, 2}) // 0 and 1 are not taken for lost a second time
	// The ACKs of 4 and 5 were lost: the block 2-6 shows 6 at its upper end, then a
	// gap in what is known; blocks are read from above up to a known packet.
	step(2, 7, 0, false, 3, false, counts{3, 0, 5}) // 6, 5, 4 are news, 3 is known
	if !b.arrived(0, true) {
		t.Error("packet 0 is no news")
	}
	b.expect(t, "the ACK of 0", counts{2, 0, 5}) // 1 (again), 7
	// Another case of lost ACKs: 9 is known, then a block covers 8-10.
	for seq := uint32(8); seq < 12; seq++ {
		b.note(20*units.Microsecond, seq, 1, false, true)
	}
	b.expect(t, "8-11 sent", counts{6, 0, 5})
	step(9, 10, 1, false, 1, true, counts{3, 2, 6})  // 7 and 8 are lost
	step(8, 11, 1, false, 1, false, counts{2, 2, 7}) // 10 is news; 9 is known: 8 is not looked at
	step(8, 11, 1, true, 1, false, counts{2, 1, 8})  // all: 8 arrived after all
	if got := b.nextLost(1); got != 7 {
		t.Errorf("packet %d is sent again, want 7", got)
	}
}

// The board grows with the window and keeps what it knows: 64 places at first.
func TestScoreboardGrows(t *testing.T) {
	b := sent(10, SACK)
	for seq := range uint32(5) {
		b.arrived(seq, true)
	}
	b.selected(7, 8, false)
	for seq := uint32(10); seq < 100; seq++ {
		b.note(units.Time(seq)*units.Microsecond, seq, 5, false, true)
	}
	b.expect(t, "100 packets", counts{94, 0, 1}) // 5 to 99 without 7
	if *b.at(7) != sacked || *b.at(6) != underWay || b.rtt(100*units.Microsecond, 6) != 94*units.Microsecond {
		t.Error("growing lost what was known of packets 6 and 7")
	}
}

// RFC 6298, section 2: the first measurement R gives SRTT = R, RTTVAR = R / 2; the
// next ones RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|, SRTT = 7/8 SRTT + 1/8 R.
func TestSmoothedRoundTrip(t *testing.T) {
	b := &board{}
	for i, c := range []struct{ rtt, srtt, vary units.Time }{
		{100_000, 100_000, 50_000},
		{60_000, 95_000, 47_500}, // 37,500 + 10,000; 87,500 + 7,500
		{95_000, 95_000, 35_625}, // 3/4 of 47,500
		{175_000, 105_000, 46_719},
	} {
		b.measured(c.rtt)
		// Integer division cuts towards zero.
		if d := b.vary - c.vary; b.srtt != c.srtt || d > 1 || d < -1 {
			t.Errorf("measurement %d: %d and %d, want %d and %d", i, b.srtt, b.vary, c.srtt, c.vary)
		}
	}
}

// IRN, section 3.1: few packets in the network wait for RTO_low, more for RTO_high.
func TestIRNTimeouts(t *testing.T) {
	n, way := &NIC{}, &Transport{Recovery: IRN, LowTimeout: 100, LowPackets: 3}
	for _, c := range []struct {
		pipe uint32
		want units.Time
	}{{1, 100}, {2, 100}, {3, 320}, {50, 320}} {
		if got := n.timeoutOf(&qp{rto: 320, way: way, board: &board{pipe: c.pipe}}); got != c.want {
			t.Errorf("%d packets wait for %d, want %d", c.pipe, got, c.want)
		}
	}
}
