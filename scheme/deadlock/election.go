package deadlock

import (
	"cmp"
	"slices"
)

// Tuple is a probing message of Roundabout: its origin, the random number that decides between
// several, and its hop count (Roundabout section III-A).
type Tuple struct {
	Rand     uint32
	Sid, Qid uint16 // switch, and queue within it
	Hop      uint8
	Valid    bool
}

// Same reports whether two tuples are the same message, whatever their hop count.
func (t Tuple) Same(u Tuple) bool {
	t.Hop = u.Hop
	return t == u
}

// Before reports whether a tuple wins against another: the smaller random number, then the
// smaller switch and queue, so that equal numbers cannot chase each other.
func (t Tuple) Before(u Tuple) bool {
	if !t.Valid || !u.Valid {
		return t.Valid
	}
	return cmp.Or(cmp.Compare(t.Rand, u.Rand), cmp.Compare(t.Sid, u.Sid), cmp.Compare(t.Qid, u.Qid)) < 0
}

// MaxHop is the hop limit of a tuple: a tuple whose origin is gone must not circulate for ever.
const MaxHop = 64

// Received is the tuple in the pause of an egress on which an ingress queue is stuck.
type Received struct {
	By uint16 // egress queue
	T  Tuple
}

// Actions are what a queue wants sent upstream after an input.
type Actions struct {
	Advertise bool // PAUSE with the tuple Adv
	Ask       bool // opcode 4 with Init and Round: the question of a candidate
	Relay     bool // the received opcode 4
	Confirmed bool // the queue's own opcode 4 returned: it is the coordinator
}

// Election is loop detection at one lossless ingress queue: a corrected form of Roundabout's
// Algorithm 1. It does not remember what blocks a queue, but gets it from the egresses on which
// the queue is stuck, so nothing is stale after a RESUME. It has no clock, no queue and no random
// source; equal values behave identically.
//
// A queue advertises the smallest of its own tuple, drawn at each OFF, and the tuples of the
// egresses on which it is stuck. A tuple that returns to its origin, or arrives by a second
// egress, makes a candidate. The candidate asks along the loop with opcode 4, which only stuck
// queues relay. If the question returns, all of them were stuck.
type Election struct {
	Sid, Qid  uint16
	Limit     uint8 // MaxHop
	Off       bool
	Candidate bool
	Asking    bool // the queue's own opcode 4 is in flight
	Confirmed bool
	Round     uint8 // number of the queue's own opcode 4
	Init      Tuple
	Adv       Tuple
	Passed    [4]Question // last relayed questions, newest first
}

// Question is an opcode 4.
type Question struct {
	T     Tuple
	Round uint8
}

// NewElection returns the election of a queue that is ON.
func NewElection(sid, qid uint16) Election { return Election{Sid: sid, Qid: qid, Limit: MaxHop} }

// Pause follows the change from ON to OFF, with a fresh random number.
func (e *Election) Pause(rand uint32, stuck []Received) Actions {
	e.Off = true
	e.Init = Tuple{Rand: rand, Sid: e.Sid, Qid: e.Qid, Valid: true}
	return e.Look(stuck)
}

// Resume follows the change from OFF to ON. Round numbers continue, so that an answer to an old
// question is not taken for a new one.
func (e *Election) Resume() {
	e.Off, e.Candidate, e.Asking, e.Confirmed = false, false, false, false
	e.Init, e.Adv = Tuple{}, Tuple{}
}

// Look follows a change of the egresses on which the queue is stuck, or of their tuples.
func (e *Election) Look(stuck []Received) Actions {
	if !e.Off {
		return Actions{}
	}
	best := e.Init
	for _, h := range stuck {
		t := h.T
		if e.ignores(t) {
			continue
		}
		if t.Hop++; t.Before(best) || t.Same(best) && t.Hop < best.Hop {
			best = t
		}
	}
	say := Actions{Advertise: best != e.Adv}
	e.Adv = best
	was := e.Candidate
	e.Candidate = e.returned(stuck)
	switch {
	case !e.Candidate:
		e.Asking, e.Confirmed = false, false
	case !was && !e.Confirmed:
		say.Ask = e.ask()
	}
	return say
}

// ignores reports whether a tuple is invalid, too far from its origin, or from an earlier pause
// of this queue.
func (e *Election) ignores(t Tuple) bool {
	return !t.Valid || t.Hop >= e.Limit || t.Sid == e.Sid && t.Qid == e.Qid && t.Rand != e.Init.Rand
}

// returned reports whether the advertised tuple returned: to its origin, or by a second egress. A
// larger tuple does not count, because not all queues forward it.
func (e *Election) returned(stuck []Received) bool {
	n := 0
	if e.Adv.Same(e.Init) {
		n++
	}
	for _, h := range stuck {
		if !e.ignores(h.T) && h.T.Same(e.Adv) {
			n++
		}
	}
	return n > 1
}

func (e *Election) ask() bool {
	e.Asking = true
	e.Round++
	return true
}

// Retry asks again: an answer is overdue, or a coordinator with a smaller tuple has not resolved
// the loop.
func (e *Election) Retry() Actions {
	if !e.Candidate || e.Confirmed {
		return Actions{}
	}
	return Actions{Ask: e.ask()}
}

// Retire draws a new number from the upper half: the queue failed as coordinator and lets others
// try.
func (e *Election) Retire(rand uint32, stuck []Received) Actions {
	e.Candidate, e.Asking, e.Confirmed = false, false, false
	return e.Pause(rand|1<<31, stuck)
}

// Question takes an opcode 4 with a tuple and round; stuck reports whether the queue is stuck on
// the egress it arrived by. A candidate gives way only to a smaller tuple, a coordinator to none.
func (e *Election) Question(t Tuple, round uint8, stuck bool) Actions {
	switch {
	case !e.Off || !stuck:
		return Actions{}
	case t.Same(e.Init):
		if !e.Asking || round != e.Round {
			return Actions{}
		}
		e.Asking, e.Confirmed = false, true
		return Actions{Confirmed: true}
	case e.Confirmed || e.Asking && !t.Before(e.Init), slices.Contains(e.Passed[:], Question{t, round}):
		return Actions{}
	}
	e.Asking = false
	copy(e.Passed[1:], e.Passed[:])
	e.Passed[0] = Question{t, round}
	return Actions{Relay: true}
}
