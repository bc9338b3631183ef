package cc

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// tcp is the common part of the TCP family: a congestion window in payload bytes, slow start,
// and one reaction per window of data. TCP is clocked by ACKs and not paced: its rate is the
// line rate.
type tcp struct {
	line       units.Rate
	mss        units.Bytes
	cwnd       units.Bytes
	ssthresh   units.Bytes
	counted    units.Bytes // bytes acknowledged since the window last grew by a segment
	una        uint32      // first unacknowledged packet
	next       uint32      // packets ever sent, as far as known
	sent       uint32      // packets sent since the last ACK, including retransmissions
	flight     units.Bytes // bytes in flight after the last ACK
	used       units.Bytes // bytes in flight before it
	lossEnd    uint32      // end of the window of data in which a loss was handled
	markEnd    uint32      // end of the window of data in which a mark was handled
	recovering bool        // in fast recovery: the window stays
	expired    bool        // nothing was acknowledged since a timeout
}

// maxWindow is the largest window that TCP can advertise (RFC 7323, section 2.3).
const maxWindow = 1 * units.GiB

// begin starts a flow with a window of the given number of segments, or of one
// bandwidth-delay product for 0.
func (t *tcp) begin(f *Flow, segments int) {
	mss := f.MSS
	if mss == 0 {
		mss = f.MTU
	}
	window := units.Bytes(segments) * mss
	if segments == 0 {
		window = f.Line.In(f.BaseRTT)
	}
	*t = tcp{line: f.Line, mss: mss, cwnd: min(max(window, mss), maxWindow), ssthresh: maxWindow}
}

func checkInitial(segments int) error {
	if segments < 0 || segments > 100_000 {
		return fmt.Errorf("initial_segments is %d (expected 0 to 100000; 0 is one bandwidth-delay product)", segments)
	}
	return nil
}

// OnSend implements Control.
func (t *tcp) OnSend(units.Time, units.Bytes) { t.sent++ }

// OnCNP implements Control: TCP gets marks in ACKs.
func (t *tcp) OnCNP(units.Time) {}

// Rate implements Control.
func (t *tcp) Rate(units.Time) units.Rate { return t.line }

// Window implements Control.
func (t *tcp) Window(units.Time) units.Bytes { return t.cwnd }

// take updates the state for an ACK and reports whether the window may grow. It may if the
// ACK acknowledges new data without a mark, outside recovery, and at least half of the window
// was in use. A window that does not limit the flow says nothing about the network (RFC
// 7661, section 4.2). The ACK that ends a recovery does not count.
func (t *tcp) take(a *Ack, marked bool) bool {
	t.used = t.outstanding()
	inRecovery := t.recovering
	if a.Seq > t.una {
		t.una, t.expired = a.Seq, false
	}
	t.next = max(t.next, a.Next)
	t.sent = 0
	t.flight = a.Flight
	if t.una >= t.lossEnd {
		t.recovering = false
	}
	return a.Bytes > 0 && !marked && !inRecovery && 2*t.used+t.mss > t.cwnd
}

// outstanding returns the bytes in flight: FlightSize of RFC 5681, or with selective ACKs the
// pipe of RFC 6675. While a gap is open, FlightSize can grow far beyond the window; half of
// it would be no reduction.
func (t *tcp) outstanding() units.Bytes { return t.flight + units.Bytes(t.sent)*t.mss }

// slow reports whether the window is in slow start.
func (t *tcp) slow() bool { return t.cwnd < t.ssthresh }

// slowStart grows the window by the acknowledged bytes, at most one segment per ACK (RFC
// 5681, eq. 2).
func (t *tcp) slowStart(b units.Bytes) { t.cwnd = min(t.cwnd+min(b, t.mss), maxWindow) }

// avoid grows the window by one segment per acknowledged window, counting bytes (RFC 5681,
// section 3.1).
func (t *tcp) avoid(b units.Bytes) {
	t.counted += b
	if t.counted >= t.cwnd {
		t.counted -= t.cwnd
		t.cwnd = min(t.cwnd+t.mss, maxWindow)
	}
}

// grow is slow start or congestion avoidance of RFC 5681.
func (t *tcp) grow(b units.Bytes) {
	if t.slow() {
		t.slowStart(b)
	} else {
		t.avoid(b)
	}
}

// beginRecovery begins a recovery: the window stays until everything sent so far is acknowledged (RFC
// 6582, section 3.2). It is called once per recovery.
func (t *tcp) beginRecovery() { t.lossEnd, t.recovering = t.sentSoFar(), true }

// newMark reports whether the mark of an ACK is the first of its window of data
// (RFC 3168, section 6.1.2).
func (t *tcp) newMark(a *Ack) bool {
	if t.recovering || a.Seq <= t.markEnd {
		return false
	}
	t.markEnd = t.sentSoFar()
	return true
}

// unmarked reports, at a new loss, whether no mark of its window of data was handled. Marks
// of the recovery that begins are ignored. Together with newMark this gives one reaction per
// window to losses and marks (RFC 3168).
func (t *tcp) unmarked() bool {
	handled := t.una < t.markEnd
	t.markEnd = t.lossEnd
	return !handled
}

// sentSoFar returns the number after the last packet sent. It also counts retransmissions
// since the last ACK, so it may be slightly too high.
func (t *tcp) sentSoFar() uint32 { return t.next + t.sent }

// half returns half of the outstanding bytes, at least two segments (RFC 5681, eq. 4).
func (t *tcp) half() units.Bytes { return max(t.outstanding()/2, 2*t.mss) }

// lower sets threshold and window after a loss or mark, and resets the byte count. It never
// raises the window.
func (t *tcp) lower(ssthresh, cwnd units.Bytes) {
	t.ssthresh, t.cwnd, t.counted = ssthresh, min(t.cwnd, cwnd), 0
}

// timeout falls back to one segment (RFC 5681, section 3.1). A second timeout without
// progress in between keeps the threshold (eq. 4). Losses of packets sent before are ignored.
func (t *tcp) timeout(ssthresh units.Bytes) {
	if t.expired {
		ssthresh = t.ssthresh
	}
	t.lower(ssthresh, t.mss)
	t.lossEnd = t.sentSoFar()
	t.markEnd = t.lossEnd
	t.recovering, t.expired = false, true
	t.flight, t.sent = 0, 0
	t.next = t.lossEnd
}
