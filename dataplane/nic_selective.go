package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// This file implements selective repeat at both ends of a flow: TCP with SACK (RFC 2018, 6298,
// 6675) and IRN (Mittal et al. 2018).
//
// An ACK has an extension unless it was caused by the packet just before the next expected one.
// The first word has the packet that caused the ACK, the number of packets that the receiver
// stores out of order, and the number of words that follow. Each of these is a block of stored
// packets: first the block around the causing packet, then the lowest ones.

const maxBlocks = 3

func sackHead(cause, buffered uint32, blocks int) uint64 {
	return uint64(cause) | uint64(buffered&0xffffff)<<32 | uint64(blocks)<<56
}

func sackBlock(from, to uint32) uint64 { return uint64(from) | uint64(to)<<32 }

// reorder records which packets of a flow arrived out of order.
type reorder struct {
	bits []uint64 // by packet modulo length
	n    uint32   // number of packets
}

func (o *reorder) word(seq uint32) (*uint64, uint64) {
	at := seq & uint32(len(o.bits)*64-1)
	return &o.bits[at>>6], 1 << (at & 63)
}

func (o *reorder) has(seq uint32) bool {
	w, bit := o.word(seq)
	return *w&bit != 0
}

func (o *reorder) flip(seq uint32) {
	w, bit := o.word(seq)
	*w ^= bit
}

// reorderOf returns the reorder buffer of a flow, and allocates one if needed.
func (n *NIC) reorderOf(r *RecvResult, tr *Transport) *reorder {
	m := n.moreOf(r)
	if m.reorder == 0 {
		if k := len(n.freeReorder); k > 0 {
			m.reorder = n.freeReorder[k-1]
			n.freeReorder = n.freeReorder[:k-1]
		} else {
			n.reorder = append(n.reorder, reorder{})
			m.reorder = int32(len(n.reorder) - 1)
		}
	}
	o := &n.reorder[m.reorder]
	if o.n == 0 && uint32(len(o.bits)*64) < tr.Window {
		words := 1
		for uint32(words*64) < tr.Window {
			words *= 2
		}
		o.bits = make([]uint64, words)
	}
	return o
}

// selectiveData handles a data packet: every new one is kept.
func (n *NIC) selectiveData(now units.Time, p *packet.Packet, r *RecvResult, tr *Transport, marked bool, ext packet.Ext) {
	kind, atOnce := packet.Ack, true
	stored := n.more[r.more].reorder
	switch {
	case p.Seq == r.Next:
		if stored == 0 {
			n.changeMark(p, r, tr, marked)
			atOnce = false
		}
		n.deliver(now, p, r, tr)
	case p.Seq < r.Next || stored != 0 && n.reorder[stored].has(p.Seq):
		r.Twice++
	case p.Seq-r.Next >= tr.Window:
		return // beyond the window: no sender does that
	default:
		r.Early++
		o := n.reorderOf(r, tr)
		o.flip(p.Seq)
		o.n++
		if n.checks != nil {
			n.checks.checkSize(now, n.flows, p, tr)
		}
		if m := n.moreOf(r); m.nacked != r.Next+1 {
			m.nacked = r.Next + 1
			n.reportFlow(now, p.Flow, probe.FlowGap)
		}
		if tr.Recovery == IRN {
			kind = packet.Nack
			n.Stats.Nacks++
		}
	}
	if !atOnce && int(r.unacked) < tr.AckEvery && r.Delivered == 0 && p.Flags&packet.AckNow == 0 && !(marked && tr.CNP == CNPInAck) {
		return
	}
	r.unacked, r.marked = 0, marked
	sack := packet.Ext(nil)
	if atOnce || len(ext) > 0 {
		sack = n.blocks(p.Seq, r)
	}
	answer := n.reply(p, kind, tr, r.Next, marked)
	if len(sack)+len(ext) > 0 {
		n.extend(answer, tr, sack, ext)
	}
}

// deliver passes the expected packet, and stored packets that follow it, to the application.
func (n *NIC) deliver(now units.Time, p *packet.Packet, r *RecvResult, tr *Transport) {
	for first := true; ; first = false {
		seq := r.Next
		r.Next++
		r.unacked++
		last := units.Bytes(r.Next)*tr.Payload >= r.size
		if n.checks != nil {
			if first {
				n.checks.delivered(now, n.flows, p, tr, last)
			} else {
				n.checks.deliveredBytes(now, n.flows, p.Flow, seq, min(tr.Payload, r.size-units.Bytes(seq)*tr.Payload), tr, last)
			}
		}
		if last {
			n.delivered(now, p.Flow, r)
		}
		m := &n.more[r.more]
		if m.reorder == 0 {
			return
		}
		o := &n.reorder[m.reorder]
		if o.n == 0 {
			n.freeReorder = append(n.freeReorder, m.reorder)
			m.reorder = 0
			return
		}
		if !o.has(r.Next) {
			return
		}
		o.flip(r.Next)
		o.n--
	}
}

// blocks returns the extension that describes the packets of a flow stored out of order.
func (n *NIC) blocks(cause uint32, r *RecvResult) packet.Ext {
	n.sack = append(n.sack[:0], 0)
	buffered := uint32(0)
	if stored := n.more[r.more].reorder; stored != 0 {
		o := &n.reorder[stored]
		buffered = o.n
		left, around := o.n, uint32(0)
		if cause > r.Next && o.has(cause) {
			from, to := cause, cause+1
			for o.has(from - 1) {
				from--
			}
			for to-r.Next < uint32(len(o.bits)*64) && o.has(to) {
				to++
			}
			n.sack = append(n.sack, sackBlock(from, to))
			left -= to - from
			around = from
		}
		for s := r.Next + 1; left > 0 && len(n.sack) <= maxBlocks; s++ {
			if !o.has(s) {
				continue
			}
			from := s
			for o.has(s) {
				s++
			}
			if around != 0 && from == around {
				continue
			}
			n.sack = append(n.sack, sackBlock(from, s))
			left -= s - from
		}
	}
	n.sack[0] = sackHead(cause, buffered, len(n.sack)-1)
	return n.sack
}

// selectivelyAcknowledged handles an ACK or NACK of a flow with selective repeat.
func (n *NIC) selectivelyAcknowledged(now units.Time, i int32, q *qp, p *packet.Packet, ext packet.Ext) {
	b, tr := q.board, q.tr
	cause, blocks, buffered := p.Seq-1, packet.Ext(nil), uint32(0)
	if len(ext) > 0 {
		head := ext[0]
		k := int(head >> 56)
		cause, buffered, blocks, ext = uint32(head), uint32(head>>32)&0xffffff, ext[1:1+k], ext[1+k:]
	}
	b.cause, b.causeResent = cause, p.Flags&packet.Retransmit != 0
	rtt := units.Time(0)
	if !b.causeResent && cause >= q.una && cause < q.high {
		if rtt = b.rtt(now, cause); rtt > 0 {
			b.updateRTT(rtt)
		}
	}
	fresh := units.Bytes(0)
	progress := p.Seq > q.una
	for ; q.una < p.Seq; q.una++ {
		if b.arrived(q.una, true) {
			fresh += q.payload(q.una, q.una+1)
		}
	}
	if p.Seq == q.una { // otherwise it is old: its blocks are known, or will be repeated
		for pass := range 2 {
			for _, w := range blocks {
				from, to := max(uint32(w), q.una), min(uint32(w>>32), q.seq)
				if from >= to {
					continue
				}
				if to == q.total && *b.at(to - 1) != pktSacked {
					fresh -= units.Bytes(q.fullSize - q.lastSize)
				}
				fresh += units.Bytes(b.applyBlock(from, to, pass == 1)) * tr.Payload
			}
			if b.sacked == buffered {
				break
			}
		}
	}
	if progress {
		q.rto = n.baseTimeout(q, tr)
		q.rtoAt = units.Never
		if q.una < q.seq {
			q.rtoAt = now + n.timeoutOf(q)
		}
		n.armSoft(i, q)
	}
	if q.una == q.total {
		n.finishFlow(now, i, q)
		return
	}
	before := n.rateOf(now, q)
	if b.detect(q.una, tr.Recovery.threshold()) {
		n.reportLost(now, q)
		if q.una >= b.recover {
			b.recover = q.high
			q.ctl.OnLoss(now, false)
		}
	}
	n.ack.Bytes, n.ack.RTT, n.ack.Nack, n.ack.Telemetry = fresh, rtt, p.Kind() == packet.Nack, ext
	n.feedback(now, i, q, p, before)
}

// baseTimeout returns the retransmission timeout without backoff.
func (n *NIC) baseTimeout(q *qp, tr *Transport) units.Time {
	if tr.Recovery != SACK || q.board.srtt == 0 {
		return tr.Timeout
	}
	return min(max(q.board.srtt+4*q.board.rttvar, tr.MinTimeout), tr.MaxTimeout)
}

// timeoutOf returns the timeout for a timer that is started now.
func (n *NIC) timeoutOf(q *qp) units.Time {
	if tr := q.tr; tr.Recovery == IRN && q.board.pipe < tr.LowPackets {
		return tr.LowTimeout
	}
	return q.rto
}

// loseAll follows a timeout. TCP considers everything lost that was not SACKed (RFC 5681,
// section 3.1); IRN the first packet, and packets before the highest SACKed one.
func (n *NIC) loseAll(now units.Time, i int32, q *qp) {
	b := q.board
	end := q.seq
	if q.tr.Recovery == IRN {
		end = max(q.una+1, b.peak)
	}
	for s := q.una; s < min(end, q.seq); s++ {
		b.lose(s)
	}
	b.recover = q.high
	n.reconsider(now, i, q)
}
