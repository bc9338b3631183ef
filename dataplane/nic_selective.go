package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// This file is selective repeat, at both ends of a flow: TCP with SACK (RFC 2018,
// 6298, 6675) and IRN (Mittal et al. 2018).
//
// An ACK that does not just answer the packet before the one expected next has an
// extension. Its first word names the packet that caused it, how many packets the
// receiver holds out of order, and how many words follow: each a block of
// packets that it holds, the first around the packet that caused the ACK, then
// the lowest ones.

const maxBlocks = 3

func sackHead(cause, held uint32, blocks int) uint64 {
	return uint64(cause) | uint64(held&0xffffff)<<32 | uint64(blocks)<<56
}

func sackBlock(from, to uint32) uint64 { return uint64(from) | uint64(to)<<32 }

// reorder holds which packets of a flow came before one that is missing.
type reorder struct {
	bits []uint64 // by packet modulo length
	n    uint32   // packets
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

// hold returns the reorder buffer of a flow, which may have been without one.
func (n *NIC) hold(r *RecvResult, way *Transport) *reorder {
	if r.held == 0 {
		if k := len(n.freeReorder); k > 0 {
			r.held = n.freeReorder[k-1]
			n.freeReorder = n.freeReorder[:k-1]
		} else {
			n.reorder = append(n.reorder, reorder{})
			r.held = int32(len(n.reorder) - 1)
		}
	}
	o := &n.reorder[r.held]
	if o.n == 0 && uint32(len(o.bits)*64) < way.Window {
		words := 1
		for uint32(words*64) < way.Window {
			words *= 2
		}
		o.bits = make([]uint64, words)
	}
	return o
}

// selectiveData takes a data packet: any that is new is kept.
func (n *NIC) selectiveData(now units.Time, p *packet.Packet, r *RecvResult, way *Transport, marked bool, ext packet.Ext) {
	kind, atOnce := packet.Ack, true
	switch {
	case p.Seq == r.Next:
		if r.held == 0 {
			n.changeMark(p, r, way, marked)
			atOnce = false
		}
		n.deliver(now, p, r, way)
	case p.Seq < r.Next || r.held != 0 && n.reorder[r.held].has(p.Seq):
		r.Twice++
	case p.Seq-r.Next >= way.Window:
		return // no sender does that
	default:
		r.Early++
		o := n.hold(r, way)
		o.flip(p.Seq)
		o.n++
		if n.checks != nil {
			n.checks.sized(now, n.flows, p, way)
		}
		if r.nacked != r.Next+1 {
			r.nacked = r.Next + 1
			n.reportFlow(now, p.Flow, probe.FlowGap)
		}
		if way.Recovery == IRN {
			kind = packet.Nack
			n.Stats.Nacks++
		}
	}
	if !atOnce && int(r.unacked) < way.AckEvery && r.Delivered == 0 && p.Flags&packet.AckNow == 0 && !(marked && way.CNP == CNPInAck) {
		return
	}
	r.unacked, r.marked = 0, marked
	sack := packet.Ext(nil)
	if atOnce || len(ext) > 0 {
		sack = n.blocks(p.Seq, r)
	}
	answer := n.reply(p, kind, way, r.Next, marked)
	if len(sack)+len(ext) > 0 {
		n.extend(answer, way, sack, ext)
	}
}

// deliver hands the packet that was expected, and those that waited for it, to the
// application.
func (n *NIC) deliver(now units.Time, p *packet.Packet, r *RecvResult, way *Transport) {
	for first := true; ; first = false {
		seq := r.Next
		r.Next++
		r.unacked++
		last := units.Bytes(r.Next)*way.Payload >= r.size
		if n.checks != nil {
			if first {
				n.checks.delivered(now, n.flows, p, way, last)
			} else {
				n.checks.given(now, n.flows, p.Flow, seq, min(way.Payload, r.size-units.Bytes(seq)*way.Payload), way, last)
			}
		}
		if last {
			r.Delivered = now
			if n.flows.wait != nil {
				n.releaseWaiters(now, p.Flow)
			}
			n.reportFlow(now, p.Flow, probe.FlowDelivered)
		}
		if r.held == 0 {
			return
		}
		o := &n.reorder[r.held]
		if o.n == 0 {
			n.freeReorder = append(n.freeReorder, r.held)
			r.held = 0
			return
		}
		if !o.has(r.Next) {
			return
		}
		o.flip(r.Next)
		o.n--
	}
}

// blocks describes what a flow holds out of order.
func (n *NIC) blocks(cause uint32, r *RecvResult) packet.Ext {
	n.sack = append(n.sack[:0], 0)
	held := uint32(0)
	if r.held != 0 {
		o := &n.reorder[r.held]
		held = o.n
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
	n.sack[0] = sackHead(cause, held, len(n.sack)-1)
	return n.sack
}

// selectivelyAcknowledged takes an ACK or NACK of a flow with selective repeat.
func (n *NIC) selectivelyAcknowledged(now units.Time, i int32, q *qp, p *packet.Packet, ext packet.Ext) {
	b, way := q.board, q.way
	cause, blocks, held := p.Seq-1, packet.Ext(nil), uint32(0)
	if len(ext) > 0 {
		head := ext[0]
		k := int(head >> 56)
		cause, held, blocks, ext = uint32(head), uint32(head>>32)&0xffffff, ext[1:1+k], ext[1+k:]
	}
	b.cause, b.again = cause, p.Flags&packet.Retransmit != 0
	rtt := units.Time(0)
	if !b.again && cause >= q.una && cause < q.high {
		if rtt = b.rtt(now, cause); rtt > 0 {
			b.measured(rtt)
		}
	}
	fresh := units.Bytes(0)
	progress := p.Seq > q.una
	for ; q.una < p.Seq; q.una++ {
		if b.arrived(q.una, true) {
			fresh += q.payload(q.una, q.una+1)
		}
	}
	if p.Seq == q.una { // else an old one: what it shows is known, or will be again
		for pass := range 2 {
			for _, w := range blocks {
				from, to := max(uint32(w), q.una), min(uint32(w>>32), q.seq)
				if from >= to {
					continue
				}
				if to == q.total && *b.at(to - 1) != sacked {
					fresh -= units.Bytes(q.fullSize - q.lastSize)
				}
				fresh += units.Bytes(b.selected(from, to, pass == 1)) * way.Payload
			}
			if b.held == held {
				break
			}
		}
	}
	if progress {
		q.rto = n.usualTimeout(q, way)
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
	if b.detect(q.una, way.Recovery.threshold()) {
		n.tellLost(now, q)
		if q.una >= b.recover {
			b.recover = q.high
			q.ctl.OnLoss(now, false)
		}
	}
	n.ack.Bytes, n.ack.RTT, n.ack.Nack, n.ack.Telemetry = fresh, rtt, p.Kind() == packet.Nack, ext
	n.feedback(now, i, q, p, before)
}

// usualTimeout is the retransmission timeout without backing off.
func (n *NIC) usualTimeout(q *qp, way *Transport) units.Time {
	if way.Recovery != SACK || q.board.srtt == 0 {
		return way.Timeout
	}
	return min(max(q.board.srtt+4*q.board.vary, way.MinTimeout), way.MaxTimeout)
}

// timeoutOf returns the timeout of a timer that is set now.
func (n *NIC) timeoutOf(q *qp) units.Time {
	if way := q.way; way.Recovery == IRN && q.board.pipe < way.LowPackets {
		return way.LowTimeout
	}
	return q.rto
}

// loseAll follows a timeout. TCP takes everything for lost that was not SACKed
// (RFC 5681, section 3.1); IRN the first packet, and what later ones overtook.
func (n *NIC) loseAll(now units.Time, i int32, q *qp) {
	b := q.board
	end := q.seq
	if q.way.Recovery == IRN {
		end = max(q.una+1, b.peak)
	}
	for s := q.una; s < min(end, q.seq); s++ {
		b.lose(s)
	}
	b.recover = q.high
	n.reconsider(now, i, q)
}
