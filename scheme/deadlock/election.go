package deadlock

import (
	"cmp"
	"slices"
)

// Tuple is a probing message of Roundabout: where it began, the random number that
// decides between several, and how far it has come (Roundabout section III-A).
type Tuple struct {
	Rand     uint32
	Sid, Qid uint16 // switch and queue within it
	Hop      uint8
	Valid    bool
}

// Same reports whether two tuples are one message, however far it has come.
func (t Tuple) Same(u Tuple) bool {
	t.Hop = u.Hop
	return t == u
}

// Before reports whether a tuple wins against another: the smaller random number, then
// the smaller switch and queue, so that equal numbers cannot chase each other.
func (t Tuple) Before(u Tuple) bool {
	if !t.Valid || !u.Valid {
		return t.Valid
	}
	return cmp.Or(cmp.Compare(t.Rand, u.Rand), cmp.Compare(t.Sid, u.Sid), cmp.Compare(t.Qid, u.Qid)) < 0
}

// MaxHop is how far a tuple goes: one whose origin has gone must not circulate for ever.
const MaxHop = 64

// Heard is what the pause of an egress carries on which an ingress queue is stuck.
type Heard struct {
	By uint16 // number of the egress
	T  Tuple
}

// Say is what a queue wants sent upstream after an input.
type Say struct {
	Advertise bool // PAUSE with the tuple Adv
	Ask       bool // opcode 4 with Init and Round: the confirmation of a candidate
	Relay     bool // the opcode 4 that came
	Confirmed bool // the own opcode 4 came back: this queue coordinates
}

// Election is detection at one lossless ingress queue, Roundabout's Algorithm 1 mended:
// what holds a queue is not remembered here, but asked of the egresses on which it is
// stuck, so nothing is stale after a RESUME. It has no clock, no queue and no random
// source, and two that are equal behave alike.
//
// A queue advertises the smallest of its own tuple, drawn at each OFF, and of those that
// hold the egresses on which it is stuck. A tuple that comes back to where it began, or
// by a second egress, makes a candidate. It asks along the loop, by opcode 4, which only
// stuck queues relay; if that comes back, all of them were.
type Election struct {
	Sid, Qid  uint16
	Limit     uint8 // MaxHop
	Off       bool
	Candidate bool
	Asking    bool // the own opcode 4 is under way
	Confirmed bool
	Round     uint8 // of the own opcode 4
	Init      Tuple
	Adv       Tuple
	Passed    [4]Question // the last that were relayed, newest first
}

// Question is an opcode 4.
type Question struct {
	T     Tuple
	Round uint8
}

// NewElection returns that of a queue which is ON.
func NewElection(sid, qid uint16) Election { return Election{Sid: sid, Qid: qid, Limit: MaxHop} }

// Pause follows ON to OFF, with a fresh random number.
func (e *Election) Pause(rand uint32, stuck []Heard) Say {
	e.Off = true
	e.Init = Tuple{Rand: rand, Sid: e.Sid, Qid: e.Qid, Valid: true}
	return e.Look(stuck)
}

// Resume follows OFF to ON. Numbers of rounds go on: an answer to an older question must
// not be taken for one to a new one.
func (e *Election) Resume() {
	e.Off, e.Candidate, e.Asking, e.Confirmed = false, false, false, false
	e.Init, e.Adv = Tuple{}, Tuple{}
}

// Look follows a change of what holds the egresses on which the queue is stuck.
func (e *Election) Look(stuck []Heard) Say {
	if !e.Off {
		return Say{}
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
	say := Say{Advertise: best != e.Adv}
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

// ignores reports whether a tuple says nothing: none, too far from its origin, or one of
// an earlier pause of this queue.
func (e *Election) ignores(t Tuple) bool {
	return !t.Valid || t.Hop >= e.Limit || t.Sid == e.Sid && t.Qid == e.Qid && t.Rand != e.Init.Rand
}

// returned reports whether the tuple that is advertised came back: to where it began, or
// by a second egress. A larger one is not passed on by all, so it does not count.
func (e *Election) returned(stuck []Heard) bool {
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

// Retry asks again: an answer is overdue, or another coordinator that this queue gave way
// to has not resolved anything.
func (e *Election) Retry() Say {
	if !e.Candidate || e.Confirmed {
		return Say{}
	}
	return Say{Ask: e.ask()}
}

// Retire draws a new number from the upper half: the queue could not do what a
// coordinator has to, and lets others try.
func (e *Election) Retire(rand uint32, stuck []Heard) Say {
	e.Candidate, e.Asking, e.Confirmed = false, false, false
	return e.Pause(rand|1<<31, stuck)
}

// Question takes an opcode 4 of a tuple and round that came by an egress on which the
// queue is stuck, or not. A candidate gives way to a smaller tuple and to no other; a
// coordinator to none.
func (e *Election) Question(t Tuple, round uint8, stuck bool) Say {
	switch {
	case !e.Off || !stuck:
		return Say{}
	case t.Same(e.Init):
		if !e.Asking || round != e.Round {
			return Say{}
		}
		e.Asking, e.Confirmed = false, true
		return Say{Confirmed: true}
	case e.Confirmed || e.Asking && !t.Before(e.Init), slices.Contains(e.Passed[:], Question{t, round}):
		return Say{}
	}
	e.Asking = false
	copy(e.Passed[1:], e.Passed[:])
	e.Passed[0] = Question{t, round}
	return Say{Relay: true}
}
