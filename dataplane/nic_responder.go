package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
)

// This file is the receiving end of flows: what it accepts and what it answers.

// data takes a data packet: go-back-N accepts only the next one in order.
func (n *NIC) data(now units.Time, p *packet.Packet, ext packet.Ext) {
	r := &n.flows.Recv[p.Flow]
	way := &n.ways[r.way]
	if n.watched && n.checks != nil {
		n.checkDst(now, p)
	}
	marked := p.Flags&packet.CE != 0
	if marked {
		n.notify(now, p, r, way)
	}
	if way.Recovery != GoBackN {
		n.selectiveData(now, p, r, way, marked, ext)
		return
	}
	switch {
	case p.Seq == r.Next:
		n.changeMark(p, r, way, marked)
		r.Next++
		r.unacked++
		last := units.Bytes(r.Next)*way.Payload >= r.size
		if n.watched && n.checks != nil {
			n.checks.delivered(now, n.flows, p, way, last)
		}
		if last {
			r.Delivered = now
			if n.flows.wait != nil {
				n.releaseWaiters(now, p.Flow)
			}
			n.reportFlow(now, p.Flow, probe.FlowDelivered)
		}
		if int(r.unacked) >= way.AckEvery || last || p.Flags&packet.AckNow != 0 || marked && way.CNP == CNPInAck {
			r.unacked = 0
			n.answer(p, packet.Ack, way, r.Next, marked, ext)
		}
	case p.Seq > r.Next:
		n.early(now, p, r, way, marked, ext)
	default:
		r.Twice++
		n.answer(p, packet.Ack, way, r.Next, marked, ext)
	}
}

//go:noinline
func (n *NIC) checkDst(now units.Time, p *packet.Packet) {
	if dst := n.flows.Flow[p.Flow].Dst; dst != n.id || p.Dst != n.id {
		n.checks.fail(now, "host %d got a packet of flow %d for host %d", n.id, p.Flow, dst)
	}
}

// early takes a packet that go-back-N does not accept because one before it is
// missing.
//
//go:noinline
func (n *NIC) early(now units.Time, p *packet.Packet, r *RecvResult, way *Transport, marked bool, ext packet.Ext) {
	r.Early++
	if r.nacked != r.Next+1 || now-r.lastNack >= way.NackEvery {
		r.nacked, r.lastNack = r.Next+1, now
		n.Stats.Nacks++
		n.reportFlow(now, p.Flow, probe.FlowGap)
		n.answer(p, packet.Nack, way, r.Next, marked, ext)
	}
}

// changeMark sends an ACK that waits for more packets when the next one is marked
// and they are not, or the other way round, so that the mark of an ACK is that of
// all it covers (RFC 8257, section 3.2). It is nobody's measure of a round trip.
func (n *NIC) changeMark(p *packet.Packet, r *RecvResult, way *Transport, marked bool) {
	if marked != r.marked && r.unacked > 0 {
		r.unacked = 0
		n.reply(p, packet.Ack, way, r.Next, r.marked).Flags |= packet.Retransmit
	}
	r.marked = marked
}

// notify sends the mark of a packet back, in the way the transport says.
func (n *NIC) notify(now units.Time, p *packet.Packet, r *RecvResult, way *Transport) {
	if way.CNP == CNPInAck {
		n.Stats.CNPs++
		return
	}
	if r.lastCNP == 0 || now-(r.lastCNP-1) >= way.CNPEvery {
		r.lastCNP = now + 1
		n.Stats.CNPs++
		n.reply(p, packet.CNP, way, r.Next, false)
	}
}

// answer queues an ACK or NACK with the telemetry of the packet that caused it.
func (n *NIC) answer(p *packet.Packet, kind packet.Kind, way *Transport, seq uint32, marked bool, ext packet.Ext) {
	f := n.reply(p, kind, way, seq, marked)
	if len(ext) > 0 {
		n.extend(f, way, nil, ext)
	}
}

// extend gives the reply that was queued last an extension. It has two parts: what
// is selectively acknowledged, and the telemetry of the packet.
func (n *NIC) extend(f *packet.Packet, way *Transport, sack, ext packet.Ext) {
	f.Flags |= packet.Extended
	n.answers[way.queue(f.Class())&7].push(sack, ext)
}

// reply queues an ACK, NACK or CNP for the source of a packet.
func (n *NIC) reply(p *packet.Packet, kind packet.Kind, way *Transport, seq uint32, marked bool) *packet.Packet {
	class := way.AckClass
	if class == ClassOfData {
		class = p.Class()
	}
	queue := way.queue(class)
	f := n.replies[queue&7].push()
	// Field by field, in its place: see Switch.describe.
	f.Flow, f.Seq, f.Hash, f.Dst = p.Flow, seq, ReplyHash(p.Hash), n.flows.Recv[p.Flow].src
	f.Size, f.Meta, f.Flags = uint16(way.AckSize), packet.MakeMeta(kind, class), p.Flags&packet.Pinned
	if marked {
		f.Flags |= packet.CE
	}
	if way.clocked { // Karn's rule: nobody knows which of the two it answers
		f.Flags |= p.Flags & packet.Retransmit
	}
	if n.watched && n.flowEnds != nil {
		n.flowEnds.Answered(f, queue)
	}
	bit := packet.MaskOf(queue)
	n.waiting |= bit
	n.ports[0].nonEmpty |= bit
	return f
}

// ReplyHash is the ECMP hash of what comes back for packets of a hash: another
// one, so that the two directions choose their paths independently.
func ReplyHash(hash uint32) uint32 { return route.Mix(hash ^ 0x9e3779b9) }
