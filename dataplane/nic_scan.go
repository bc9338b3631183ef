package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// scanner chooses the next queue pair as the public RDMA simulators do: it looks
// at all of them in turn whenever the wire is free and something happened. It
// exists to agree with their results to the nanosecond, quirks included:
//
//   - The time at which it looks again is the earliest send time of any queue pair
//     with bytes left, also of those that a window or a pause holds back, and it is
//     set only when none is set. So a queue pair that waits for its window can keep
//     the others from their send times until something else happens.
//   - Finished queue pairs stay in the list until the search meets them; when they
//     are taken out, the place at which the next search begins is not corrected.
type scanner struct {
	list    []int32          // queue pairs in the order in which they were opened
	last    int              // place of the one that sent last
	wake    units.Time       // when it looks again; Never when that is not set
	classes packet.ClassMask // of queue pairs that were opened
}

// scanAdd takes up a queue pair.
func (n *NIC) scanAdd(i int32, q *qp) {
	n.scan.list = append(n.scan.list, i)
	n.scan.classes |= 1 << q.class
	n.ports[0].nonEmpty |= 1 << q.class
}

// scanKick looks for something to send if the wire is free.
func (n *NIC) scanKick(now units.Time) {
	if p := &n.ports[0]; p.txPending == 0 && p.busy <= now {
		n.serveScan(now, p)
	}
	if len(n.visits) != 0 || n.wakes.dirty {
		n.endEvent(now)
	}
}

// serveScan is serveNIC with a search in place of lists.
func (n *NIC) serveScan(now units.Time, p *port) {
	reply := n.waiting &^ p.blocked
	if p.speaking != 0 && n.speak(now, p) || reply != 0 && n.sendReply(now, p, int(reply.Lowest())) || n.scanSend(now, p) {
		p.txPending = 1 // even if nothing waits: the end of a frame is a time to look
		n.drv.ArmTx(0, p.busy)
	}
	p.nonEmpty |= n.scan.classes
}

// scanSend sends a packet of the next queue pair that may, or sets the time at
// which to look again.
func (n *NIC) scanSend(now units.Time, p *port) bool {
	s := n.scan
	hit, finished := -1, -1
	for k := 1; k <= len(s.list); k++ {
		at := (k + s.last) % len(s.list)
		q := &n.qps[s.list[at]]
		switch {
		case !p.blocked.Has(q.class) && q.hasMore() && !q.full():
			if q.nextAt <= now {
				hit = at
			}
		case q.done && (finished < 0 || at < finished):
			finished = at
		}
		if hit >= 0 {
			break
		}
	}
	if finished >= 0 {
		hit = n.scanForget(finished, hit)
	}
	if hit < 0 {
		n.scanWait(now)
		return false
	}
	s.last = hit
	i := s.list[hit]
	q := &n.qps[i]
	seq := q.nextPacket()
	n.sendPacket(now, p, i, q, seq, q.sizeOf(seq))
	return true
}

// scanForget takes finished queue pairs from a place on out of the list and
// returns where the hit is after that.
func (n *NIC) scanForget(from, hit int) int {
	s := n.scan
	keep := s.list[:from]
	for at := from; at < len(s.list); at++ {
		i := s.list[at]
		if n.qps[i].done {
			n.free(i, &n.qps[i])
			continue
		}
		if at == hit {
			hit = len(keep)
		}
		keep = append(keep, i)
	}
	s.list = keep
	return hit
}

func (n *NIC) scanWait(now units.Time) {
	s := n.scan
	first := units.Never
	for _, i := range s.list {
		if q := &n.qps[i]; q.hasMore() {
			first = min(first, q.nextAt)
		}
	}
	if s.wake == units.Never && first != units.Never && first > now {
		s.wake = first
		n.drv.ArmPace(first)
	}
}

// scanMoved follows a change of the rate of a queue pair, even to what it was: the
// time at which to look again is only ever moved forward.
func (n *NIC) scanMoved(now units.Time, q *qp) {
	if s := n.scan; s.wake != units.Never && q.nextAt < s.wake {
		s.wake = max(now, q.nextAt)
		n.drv.ArmPace(s.wake)
	}
}
