package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// scanner chooses the next queue pair like the public RDMA simulators: it looks at all of them in
// turn whenever the wire is free and something happened. Its results match those simulators to the
// nanosecond, including two quirks:
//
//   - The time of the next scan is the earliest send time of any queue pair with bytes left, even
//     if a window or a pause blocks it. It is set only if none is set. So a queue pair with a
//     full window can delay the others past their send times, until something else happens.
//   - Finished queue pairs stay in the list until a scan finds them. Their removal does not adjust
//     the position at which the next scan starts.
type scanner struct {
	list    []int32          // queue pairs in the order in which they were opened
	last    int              // position of the queue pair that sent last
	wake    units.Time       // time of the next scan; Never: not set
	classes packet.ClassMask // classes of all queue pairs opened so far
}

// scanAdd adds a queue pair to the list.
func (n *NIC) scanAdd(i int32, q *qp) {
	n.scan.list = append(n.scan.list, i)
	n.scan.classes |= 1 << q.class
	n.ports[0].nonEmpty |= 1 << q.class
}

// scanKick scans for something to send if the wire is free.
func (n *NIC) scanKick(now units.Time) {
	if p := &n.ports[0]; p.txPending == 0 && p.busy <= now {
		n.serveScan(now, p)
	}
	if len(n.visits) != 0 || n.wakes.dirty {
		n.endEvent(now)
	}
}

// serveScan is serveNIC with a scan instead of ready lists.
func (n *NIC) serveScan(now units.Time, p *port) {
	reply := n.waiting &^ p.blocked
	if p.ctlPending != 0 && n.sendControl(now, p) || reply != 0 && n.sendReply(now, p, int(reply.Lowest())) || n.scanSend(now, p) {
		p.txPending = 1 // even if nothing waits: every end of a frame triggers a scan
		n.drv.ArmTx(0, p.busy)
	}
	p.nonEmpty |= n.scan.classes
}

// scanSend sends a packet of the next queue pair that may send, or sets the time of the next scan.
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

// scanForget removes finished queue pairs, starting at a position, and returns the new position of
// the hit.
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

// scanMoved follows a rate event of a queue pair, even if the rate stayed the same. The time of
// the next scan only ever moves earlier.
func (n *NIC) scanMoved(now units.Time, q *qp) {
	if s := n.scan; s.wake != units.Never && q.nextAt < s.wake {
		s.wake = max(now, q.nextAt)
		n.drv.ArmPace(s.wake)
	}
}
