package dataplane

import (
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// A NIC is plain if nothing but its counters follows a frame: no probe, no checks, no receive
// buffer, and no queue pairs chosen like the public simulators. A transport is plain if it
// goes back to the lost packet, measures no round-trip times, collects no telemetry, and its
// congestion control has no timers and moves no send times. NewNIC decides both once. What
// happens to nearly every frame of a plain transport at a plain NIC is written here in one
// piece: the next packet in order arrives and is acknowledged, an ACK makes progress, a new
// packet leaves. Whatever these functions do not handle takes the general path.
// sim.TestPlainNodesChangeNothing compares the two.

// isPlain reports whether the NIC is plain and has a plain transport.
func (n *NIC) isPlain(spec *NICSpec) bool {
	return !spec.NoShortcuts && !n.watched && n.receive == nil && n.scan == nil &&
		slices.ContainsFunc(n.transports, func(t Transport) bool { return t.plain })
}

// isPlain reports whether the transport is plain.
func (t *Transport) isPlain() bool {
	return !t.selective && !t.clocked && !t.records && !t.timed && !t.repaces
}

// arrivePlain is Arrive for a data packet in order without a mark, or an ACK. It returns false,
// and has changed nothing, if the frame needs the general path.
func (n *NIC) arrivePlain(now units.Time, p *packet.Packet) bool {
	switch p.Kind() {
	case packet.Data:
		r := &n.flows.Recv[p.Flow]
		tr := &n.transports[r.transport]
		if !tr.plain || p.Seq != r.Next || r.marked || p.Flags&packet.CE != 0 {
			return false
		}
		r.Next++
		r.unacked++
		last := units.Bytes(r.Next)*tr.Payload >= r.size
		if last {
			n.delivered(now, p.Flow, r)
		}
		if last || int(r.unacked) >= tr.AckEvery || p.Flags&packet.AckNow != 0 {
			r.unacked = 0
			n.acknowledge(now, p, r, tr)
			return true
		}
	case packet.Ack:
		i := n.flows.slot[p.Flow]
		if i == 0 {
			break // the flow is complete: a duplicate
		}
		q := &n.qps[i]
		if !q.plain || q.late {
			return false
		}
		n.progress(now, i, q, p)
	default:
		return false
	}
	n.kick(now)
	return true
}

// acknowledge sends the ACK of a packet now if the wire is free, otherwise queues it.
func (n *NIC) acknowledge(now units.Time, p *packet.Packet, r *RecvResult, tr *Transport) {
	class := tr.AckClass
	if class == ClassOfData {
		class = p.Class()
	}
	queue, port := tr.queue(class)&7, &n.ports[0]
	free := port.idle(now, 1<<queue)
	f := &n.out
	if !free {
		f = n.replies[queue].push()
		n.waiting |= 1 << queue
		port.nonEmpty |= 1 << queue
	}
	// Field by field and in place: see Switch.describe.
	f.Flow, f.Seq, f.Hash, f.To = p.Flow, r.Next, ReplyHash(p.Hash), r.src
	f.Size, f.Meta, f.Flags = uint16(tr.AckSize), packet.MakeMeta(packet.Ack, class), p.Flags&packet.Pinned
	if free {
		n.transmitPlain(now, port, f)
		n.endEvent(now)
		return
	}
	n.kick(now)
}

// progress is acknowledged for an ACK.
func (n *NIC) progress(now units.Time, i int32, q *qp, p *packet.Packet) {
	tr := q.tr
	n.ack.Bytes, n.ack.RTT, n.ack.Nack, n.ack.Telemetry = 0, 0, false, nil
	if p.Seq > q.una {
		n.ack.Bytes = q.payload(q.una, p.Seq)
		q.una = p.Seq
		q.seq = max(q.seq, q.una)
		q.rtoAt = now + tr.Timeout
		if q.una == q.seq {
			q.rtoAt = units.Never
		}
		if q.softAt > q.rtoAt {
			n.armSoft(i, q)
		}
		if q.una == q.total {
			n.finishFlow(now, i, q)
			return
		}
	}
	flight := units.Bytes(q.seq-q.una) * tr.Payload
	n.ack.Seq, n.ack.Next, n.ack.Flight = p.Seq, q.seq, flight
	n.ack.CE = p.Flags&packet.CE != 0
	if n.ack.CE && tr.CNP == CNPInAck {
		q.ctl.OnCNP(now)
	}
	q.ctl.OnAck(now, &n.ack)
	q.window = q.ctl.Window(now)
	if (q.state == qpIdle || q.state == qpFull) && q.seq < q.total && flight < q.window {
		n.queue(now, i, q)
	}
}

// servesPlain reports whether servePlain can serve a port.
func (n *NIC) servesPlain(p *port) bool { return n.plain && p.ctlPending == 0 && p.metered == 0 }

// servePlain is serveNIC for a port without control frames to send or meter.
func (n *NIC) servePlain(now units.Time, p *port) {
	eligible := p.nonEmpty &^ p.blocked
	if eligible == 0 {
		return
	}
	if reply := eligible & n.waiting; reply != 0 {
		class := reply.Lowest() & 7
		f := n.replies[class].front()
		if f.Flags&packet.Extended != 0 {
			n.serveClasses(now, p, eligible, -1)
			return
		}
		n.popReply(p, int(class))
		n.transmitPlain(now, p, f)
		n.rearmTx(p)
		return
	}
	class := p.sched.Pick(eligible) & 7
	q := &n.qps[n.ready[class].head]
	if !q.plain || q.done || q.seq >= q.total || q.seq < q.high || units.Bytes(q.seq-q.una)*q.tr.Payload >= q.window {
		n.serveClasses(now, p, eligible, class)
		return
	}
	n.sendNew(now, p, class, q)
	n.rearmTx(p)
}

// sendNew sends the next packet of the queue pair at the head of a ready list, which has never
// been sent.
func (n *NIC) sendNew(now units.Time, p *port, class int, q *qp) {
	f, seq, size, tr := &n.out, q.seq, q.fullSize, q.tr
	if seq+1 == q.total {
		size = q.lastSize
	}
	f.Flow, f.Seq, f.Hash, f.To, f.Size = q.flow, seq, q.hash, q.dst, size
	f.Meta, f.Flags = packet.MakeMeta(packet.Data, q.class), q.flags
	first := tr.First
	if first == 0 {
		first = n.bdp
	}
	if units.Bytes(seq)*tr.Payload < first {
		f.Flags |= packet.Unscheduled
	}
	seq++
	flight := units.Bytes(seq-q.una) * tr.Payload
	if tr.AckEvery > 1 && flight >= q.window {
		f.Flags |= packet.AckNow
	}
	q.seq, q.high = seq, seq
	n.transmitPlain(now, p, f)
	q.ctl.OnSend(now, units.Bytes(size))
	n.paced(now, p, q, size)
	if q.rtoAt == units.Never {
		q.rtoAt = now + q.rto
	}
	i := n.ready[class].head
	if q.softAt > q.rtoAt {
		n.armSoft(i, q)
	}
	more, alone := seq < q.total && flight < q.window, q.next == 0
	if !more || !alone || q.nextAt > p.busy {
		n.popReady(class)
		switch {
		case seq >= q.total:
			q.state = qpIdle
		case !more:
			q.state = qpFull
		default:
			n.queue(now, i, q)
		}
	}
	p.sched.Sent(class, units.Bytes(size), n.ready[class].head == 0)
}

// transmitPlain is transmit for a frame without an extension.
func (n *NIC) transmitPlain(now units.Time, p *port, f *packet.Packet) {
	p.count(f)
	p.busy = now + p.txTime(f.Size)
	n.drv.Transmit(0, f, nil, p.busy)
}
