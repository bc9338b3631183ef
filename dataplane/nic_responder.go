package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
)

// This file implements the receiving end of flows.

// data handles a data packet. Go-back-N accepts only the next packet in order.
func (n *NIC) data(now units.Time, p *packet.Packet, ext packet.Ext) {
	r := &n.flows.Recv[p.Flow]
	tr := &n.transports[r.transport]
	if n.watched && n.checks != nil {
		n.checkDst(now, p)
	}
	marked := p.Flags&packet.CE != 0
	if marked {
		n.notify(now, p, r, tr)
	}
	if tr.Recovery != GoBackN {
		n.selectiveData(now, p, r, tr, marked, ext)
		return
	}
	switch {
	case p.Seq == r.Next:
		n.changeMark(p, r, tr, marked)
		r.Next++
		r.unacked++
		last := units.Bytes(r.Next)*tr.Payload >= r.size
		if n.watched && n.checks != nil {
			n.checks.delivered(now, n.flows, p, tr, last)
		}
		if last {
			n.delivered(now, p.Flow, r)
		}
		if int(r.unacked) >= tr.AckEvery || last || p.Flags&packet.AckNow != 0 || marked && tr.CNP == CNPInAck {
			r.unacked = 0
			n.answer(p, packet.Ack, tr, r.Next, marked, ext)
		}
	case p.Seq > r.Next:
		n.early(now, p, r, tr, marked, ext)
	default:
		r.Twice++
		n.answer(p, packet.Ack, tr, r.Next, marked, ext)
	}
}

// delivered follows the arrival of the last packet of a flow.
func (n *NIC) delivered(now units.Time, flow uint32, r *RecvResult) {
	r.Delivered = now
	if n.flows.wait != nil {
		n.releaseWaiters(now, flow)
	}
	n.reportFlow(now, flow, probe.FlowDelivered)
}

//go:noinline
func (n *NIC) checkDst(now units.Time, p *packet.Packet) {
	if dst := n.flows.Flow[p.Flow].Dst; dst != n.id || p.Dst() != n.id {
		n.checks.fail(now, "host %d received a packet of flow %d for host %d", n.id, p.Flow, dst)
	}
}

// early handles a packet that go-back-N rejects because an earlier one is missing.
//
//go:noinline
func (n *NIC) early(now units.Time, p *packet.Packet, r *RecvResult, tr *Transport, marked bool, ext packet.Ext) {
	r.Early++
	if m := n.moreOf(r); m.nacked != r.Next+1 || now-m.lastNack >= tr.NackEvery {
		m.nacked, m.lastNack = r.Next+1, now
		n.Stats.Nacks++
		n.reportFlow(now, p.Flow, probe.FlowGap)
		n.answer(p, packet.Nack, tr, r.Next, marked, ext)
	}
}

// changeMark sends a delayed ACK if the mark of the next packet differs from the marks of the
// packets it covers. So all packets covered by an ACK have the same mark (RFC 8257, section
// 3.2). This ACK is not used to measure a round-trip time.
func (n *NIC) changeMark(p *packet.Packet, r *RecvResult, tr *Transport, marked bool) {
	if marked != r.marked && r.unacked > 0 {
		r.unacked = 0
		n.reply(p, packet.Ack, tr, r.Next, r.marked).Flags |= packet.Retransmit
	}
	r.marked = marked
}

// notify returns the mark of a packet to the sender as Transport.CNP requires.
func (n *NIC) notify(now units.Time, p *packet.Packet, r *RecvResult, tr *Transport) {
	if tr.CNP == CNPInAck {
		n.Stats.CNPs++
		return
	}
	if m := n.moreOf(r); m.lastCNP == 0 || now-(m.lastCNP-1) >= tr.CNPEvery {
		m.lastCNP = now + 1
		n.Stats.CNPs++
		n.reply(p, packet.CNP, tr, r.Next, false)
	}
}

// answer queues an ACK or NACK with the telemetry of the packet that caused it.
func (n *NIC) answer(p *packet.Packet, kind packet.Kind, tr *Transport, seq uint32, marked bool, ext packet.Ext) {
	f := n.reply(p, kind, tr, seq, marked)
	if len(ext) > 0 {
		n.extend(f, tr, nil, ext)
	}
}

// extend adds an extension to the reply that was queued last. It has two parts: SACK blocks and
// the telemetry of the packet.
func (n *NIC) extend(f *packet.Packet, tr *Transport, sack, ext packet.Ext) {
	f.Flags |= packet.Extended
	if n.replyExts == nil {
		n.replyExts = new([mmu.Classes]wordQueue)
	}
	n.replyExts[tr.queue(f.Class())&7].push(sack, ext)
}

// reply queues an ACK, NACK or CNP for the source of a packet.
func (n *NIC) reply(p *packet.Packet, kind packet.Kind, tr *Transport, seq uint32, marked bool) *packet.Packet {
	class := tr.AckClass
	if class == ClassOfData {
		class = p.Class()
	}
	queue := tr.queue(class)
	f := n.replies[queue&7].push()
	// Field by field and in place: see Switch.describe.
	f.Flow, f.Seq, f.Hash, f.To = p.Flow, seq, ReplyHash(p.Hash), n.flows.Recv[p.Flow].src
	f.Size, f.Meta, f.Flags = uint16(tr.AckSize), packet.MakeMeta(kind, class), p.Flags&packet.Pinned
	if marked {
		f.Flags |= packet.CE
	}
	if tr.clocked { // Karn's algorithm: it is unknown which transmission the ACK answers
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

// ReplyHash returns the ECMP hash of the replies to packets with a hash. It differs, so that
// the two directions choose their paths independently.
func ReplyHash(hash uint32) uint32 { return route.Mix(hash ^ 0x9e3779b9) }
