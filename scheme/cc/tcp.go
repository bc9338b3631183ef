package cc

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// tcp is what the TCP family shares: a congestion window in bytes of payload,
// slow start, and one reaction per window of data. TCP is clocked by its ACKs and
// not paced: its rate is that of the line.
type tcp struct {
	line     units.Rate
	mss      units.Bytes
	cwnd     units.Bytes
	ssthresh units.Bytes
	counted  units.Bytes // acknowledged since the window last grew by a segment
	una      uint32      // first packet that is not acknowledged
	next     uint32      // packets ever sent, as far as known
	sent     uint32      // packets sent since the last ACK, new or again
	flight   units.Bytes // in the network after the last ACK
	used     units.Bytes // in the network before it
	lossEnd  uint32      // up to here a loss was answered
	markEnd  uint32      // up to here a mark was answered
	halted   bool        // in fast recovery: the window stays
	expired  bool        // a timeout came and nothing was acknowledged since
}

// maxWindow is the largest window that TCP can advertise (RFC 7323, section 2.3).
const maxWindow = 1 * units.GiB

// begin starts a flow with a window of so many segments, or of one
// bandwidth-delay product when that is 0.
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
		return fmt.Errorf("initial_segments is %d; allowed: 0 (one bandwidth-delay product) to 100000", segments)
	}
	return nil
}

// OnSend implements Control.
func (t *tcp) OnSend(units.Time, units.Bytes) { t.sent++ }

// OnCNP implements Control: TCP has the marks in its ACKs.
func (t *tcp) OnCNP(units.Time) {}

// Rate implements Control.
func (t *tcp) Rate(units.Time) units.Rate { return t.line }

// Window implements Control.
func (t *tcp) Window(units.Time) units.Bytes { return t.cwnd }

// take brings the books up to date with an ACK. It reports whether the window
// may grow: something new arrived, without a mark that counts, outside of
// recovery, which it also did not end, while at least half of the window was in
// use (RFC 7661, section 4.2: a window that does not bind says nothing about the
// network).
func (t *tcp) take(a *Ack, marked bool) bool {
	t.used = t.outstanding()
	held := t.halted
	if a.Seq > t.una {
		t.una, t.expired = a.Seq, false
	}
	t.next = max(t.next, a.Next)
	t.sent = 0
	t.flight = a.Flight
	if t.una >= t.lossEnd {
		t.halted = false
	}
	return a.Bytes > 0 && !marked && !held && 2*t.used+t.mss > t.cwnd
}

// outstanding returns what is in the network: FlightSize of RFC 5681, with selective
// ACKs the pipe of RFC 6675. A gap that is filled late lets the former grow far
// beyond the window, so half of it would be no reduction.
func (t *tcp) outstanding() units.Bytes { return t.flight + units.Bytes(t.sent)*t.mss }

// slow reports whether the window is in slow start.
func (t *tcp) slow() bool { return t.cwnd < t.ssthresh }

// slowStart grows the window by what was acknowledged, at most a segment per ACK
// (RFC 5681, eq. 2).
func (t *tcp) slowStart(b units.Bytes) { t.cwnd = min(t.cwnd+min(b, t.mss), maxWindow) }

// avoid grows the window by a segment per window acknowledged (RFC 5681, section
// 3.1, by counting bytes).
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

// hold begins a recovery: until everything sent so far is acknowledged, the window
// stays (RFC 6582, section 3.2). The NIC calls once per recovery.
func (t *tcp) hold() { t.lossEnd, t.halted = t.sentSoFar(), true }

// newMark reports whether the mark of an ACK is the first of its window of data
// (RFC 3168, section 6.1.2).
func (t *tcp) newMark(a *Ack) bool {
	if t.halted || a.Seq <= t.markEnd {
		return false
	}
	t.markEnd = t.sentSoFar()
	return true
}

// unmarked reports, at a new loss, whether its window of data was not answered
// for a mark already; marks of the recovery that begins are not answered again.
// Together with newMark this makes one reaction per window of both (RFC 3168).
func (t *tcp) unmarked() bool {
	answered := t.una < t.markEnd
	t.markEnd = t.lossEnd
	return !answered
}

// sentSoFar returns the number after that of the last packet sent. Packets sent
// again since the last ACK count too, so it may be a little late.
func (t *tcp) sentSoFar() uint32 { return t.next + t.sent }

// half returns half of what is outstanding, at least two segments (RFC 5681,
// eq. 4).
func (t *tcp) half() units.Bytes { return max(t.outstanding()/2, 2*t.mss) }

// lower sets threshold and window after a loss or mark, and starts counting
// anew. The window never rises.
func (t *tcp) lower(ssthresh, cwnd units.Bytes) {
	t.ssthresh, t.cwnd, t.counted = ssthresh, min(t.cwnd, cwnd), 0
}

// timeout falls back to one segment (RFC 5681, section 3.1). A second timeout
// without progress between leaves the threshold alone, eq. 4. Losses of what was
// sent before are not answered again.
func (t *tcp) timeout(ssthresh units.Bytes) {
	if t.expired {
		ssthresh = t.ssthresh
	}
	t.lower(ssthresh, t.mss)
	t.lossEnd = t.sentSoFar()
	t.markEnd = t.lossEnd
	t.halted, t.expired = false, true
	t.flight, t.sent = 0, 0
	t.next = t.lossEnd
}
