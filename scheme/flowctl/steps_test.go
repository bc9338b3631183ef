package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
)

// queueSteps plays arrivals and departures of frames of one queue (port 0, class 1). It checks
// their segments, and whether the queue is paused after each.
type queueSteps struct {
	t      *testing.T
	port   *fakePort
	recv   Receiver
	paused func() packet.ClassMask
	frame  *mmu.Arrival
}

func newQueueSteps(t *testing.T, p *fakePort, r Receiver, paused func() packet.ClassMask) *queueSteps {
	return &queueSteps{t, p, r, paused, &mmu.Arrival{In: 0, Out: 1, Bytes: 1000, Class: 1, Kind: mmu.Lossless}}
}

func (q *queueSteps) arrive(where mmu.Segment, off bool) {
	q.t.Helper()
	s := q.recv.Place(0, q.frame)
	if s != where {
		q.t.Errorf("placed in %s, want %s", s, where)
	}
	if s != mmu.Drop {
		q.port.ledger.Charge(q.frame, s)
		q.recv.Charged(0, q.frame, s)
	}
	if got := q.paused() == 0b010; got != off {
		q.t.Errorf("after an arrival in %s: off is %v", s, got)
	}
}

func (q *queueSteps) leave(off bool) {
	q.t.Helper()
	q.port.ledger.Release(q.frame)
	q.recv.Released(0, q.frame)
	if got := q.paused() == 0b010; got != off {
		q.t.Errorf("with %+v: off is %v", q.port.ledger.View().Ingress(0, 1), got)
	}
}
