package deadlock

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// This file explores every order of events in a loop of up to four switches: queues that turn OFF
// and ON, frames that wait for the loop or for an exit, an outside trigger, and PFC frames in
// flight. It drives the real Election and Printed.
//
// Data goes from switch i to i+1. Queue i is the ingress of switch i from i-1; its frames may
// wait for the egress to i+1, which queue i+1 pauses.

const maxLoop = 4

// Kinds of frames that travel upstream.
const (
	msgPause = 1 + iota
	msgResume
	msgAsk
	msgInvalid
)

type loopMsg struct {
	kind  uint8
	round uint8
	t     Tuple
}

// maxWire is the number of frames that can be in flight on a link. When it is reached, a PAUSE
// waits and is rebuilt when it leaves, so the last state counts, and a question is lost.
const maxWire = 6

type wireState struct {
	n int8
	m [maxWire]loopMsg
}

func (w *wireState) put(m loopMsg) {
	if int(w.n) == maxWire {
		for i := maxWire - 1; i >= 0 && m.kind == msgPause; i-- {
			if w.m[i].kind == msgPause {
				w.m[i] = m
				return
			}
			if w.m[i].kind == msgResume {
				break
			}
		}
		if m.kind != msgAsk && m.kind != msgInvalid {
			panic("too many frames in flight for the model")
		}
		return
	}
	w.m[w.n] = m
	w.n++
}

func (w *wireState) take() loopMsg {
	m := w.m[0]
	copy(w.m[:], w.m[1:w.n])
	w.n--
	w.m[w.n] = loopMsg{}
	return m
}

// loopState is comparable: equal states have the same successors.
type loopState struct {
	q       [maxLoop]Election
	p       [maxLoop]Printed
	reg     [maxLoop]Tuple // R of the egress in the loop
	paused  [maxLoop]bool  // that egress is paused
	cause   [maxLoop]bool  // Xon or more of the queue waits for it
	off     [maxLoop]bool
	wire    [maxLoop]wireState // frames from queue i upstream
	outside Tuple              // pauses an exit of switch 0 for which Xon or more of its queue waits
	pauses  int8
	resumes int8
	flips   int8
	outs    int8
	repeats int8
	drawn   uint8 // drawn numbers, if each is drawn once
}

// loopModel has the limits of an exploration, and its counts.
type loopModel struct {
	n                             int
	pauses, resumes, flips, outs  int8
	rands                         uint32 // random numbers are 1 to this; the outside trigger has 0
	distinct                      bool   // each number is drawn once
	printed                       bool
	repeats                       int8 // refreshes of a pause, with a new number as printed
	few                           bool // queues that are OFF for an exit also have some frames for the loop
	bug                           string
	states, transitions, deadlock int
}

func (m *loopModel) start() loopState {
	s := loopState{pauses: m.pauses, resumes: m.resumes, flips: m.flips, outs: m.outs, repeats: m.repeats}
	for i := range m.n {
		s.q[i] = NewElection(uint16(i+1), 1)
		s.q[i].Limit = uint8(m.n + 2)
		if m.bug == "no hop limit" {
			s.q[i].Limit = 255
		}
		s.cause[i] = true
		s.p[i] = Printed{Sid: uint16(i + 1), Qid: 1}
	}
	return s
}

// stuck lists the egresses that block queue i.
func (s *loopState) stuck(i int) []Received {
	var list []Received
	if s.paused[i] && s.cause[i] {
		list = append(list, Received{0, s.reg[i]})
	}
	if i == 0 && s.outside.Valid {
		list = append(list, Received{1, s.outside})
	}
	return list
}

// closed is the ground truth: every queue is OFF and waits for the next.
func (s *loopState) closed(n int) bool {
	for i := range n {
		if !s.off[i] || !s.paused[i] || !s.cause[i] {
			return false
		}
	}
	return true
}

// coordinators returns the number of queues that found a deadlock.
func (m *loopModel) coordinators(s *loopState) (n int) {
	for i := range m.n {
		if s.q[i].Confirmed || m.printed && s.p[i].Found {
			n++
		}
	}
	return n
}

// act sends what a queue wants sent, and reports whether it is now the coordinator.
func (m *loopModel) act(s *loopState, i int, y Actions, t Tuple, round uint8, fresh bool) bool {
	if m.bug == "a tuple is advertised once" && !fresh {
		y.Advertise = false
	}
	if y.Advertise {
		s.wire[i].put(loopMsg{kind: msgPause, t: s.q[i].Adv})
	}
	if y.Ask {
		if m.bug == "no confirmation" {
			s.q[i].Asking, s.q[i].Confirmed = false, true
			return true
		}
		s.wire[i].put(loopMsg{kind: msgAsk, t: s.q[i].Init, round: s.q[i].Round & 15})
		s.q[i].Round &= 15
	}
	if y.Relay {
		s.wire[i].put(loopMsg{kind: msgAsk, t: t, round: round})
	}
	return y.Confirmed
}

func (m *loopModel) actPrinted(s *loopState, i int, y PrintedActions) {
	if y.Invalid.Valid || y.Invalid != (Tuple{}) {
		s.wire[i].put(loopMsg{kind: msgInvalid, t: y.Invalid})
	}
	if y.Pause != (Tuple{}) {
		s.wire[i].put(loopMsg{kind: msgPause, t: y.Pause})
	}
}

// deliver passes the first frame of wire i to its upstream and reports whether a queue found a
// deadlock.
func (m *loopModel) deliver(s *loopState, i int) bool {
	up := (i + m.n - 1) % m.n
	x := s.wire[i].take()
	if m.printed {
		return m.deliverPrinted(s, up, x)
	}
	q := &s.q[up]
	switch x.kind {
	case msgPause:
		s.paused[up], s.reg[up] = true, x.t
	case msgResume:
		s.paused[up], s.reg[up] = false, Tuple{}
	case msgAsk:
		return m.act(s, up, q.Question(x.t, x.round, s.paused[up] && s.cause[up]), x.t, x.round, false)
	}
	y := q.Look(s.stuck(up))
	if m.bug == "only an own tuple counts as returned" && !q.Adv.Same(q.Init) {
		q.Candidate, q.Asking, y.Ask = false, false, false
	}
	return m.act(s, up, y, Tuple{}, 0, false)
}

// deliverPrinted is deliver for Algorithm 1 as printed: queues only receive messages of egresses
// that store their frames.
func (m *loopModel) deliverPrinted(s *loopState, up int, x loopMsg) bool {
	p := &s.p[up]
	was, hears := p.Found, s.cause[up] || m.few
	switch x.kind {
	case msgPause:
		s.paused[up] = true
		if hears {
			m.actPrinted(s, up, p.PeerGetPause(x.t))
		}
	case msgResume:
		s.paused[up] = false
		if hears {
			m.actPrinted(s, up, p.PeerGetResume(x.t))
		}
	case msgInvalid:
		if hears {
			m.actPrinted(s, up, p.PeerGetInvalid(x.t))
		}
	}
	return p.Found && !was
}

// turnOff turns a queue OFF; cause: Xon or more of it waits for the loop.
func (m *loopModel) turnOff(s *loopState, i int, rand uint32, cause bool) bool {
	s.off[i], s.cause[i] = true, cause
	s.pauses--
	if m.printed {
		m.actPrinted(s, i, s.p[i].SendPause(rand))
		return false
	}
	return m.act(s, i, s.q[i].Pause(rand, s.stuck(i)), Tuple{}, 0, true)
}

func (m *loopModel) turnOn(s *loopState, i int) {
	s.off[i], s.cause[i] = false, true
	s.resumes--
	t := Tuple{}
	if m.printed {
		t = s.p[i].SendResume().Resume
	}
	s.q[i].Resume()
	s.wire[i].put(loopMsg{kind: msgResume, t: t})
}

// next calls visit for every successor state, with the name of the step and whether a queue found
// a deadlock in it.
func (m *loopModel) next(s loopState, visit func(name string, s loopState, found bool)) {
	for i := range m.n {
		if s.wire[i].n > 0 {
			t := s
			found := m.deliver(&t, i)
			visit(fmt.Sprintf("frame from %d arrives", i), t, found)
		}
		if s.wire[i].n >= maxWire-2 {
			continue
		}
		if !s.off[i] && s.pauses > 0 {
			for rand := uint32(1); rand <= m.rands; rand++ {
				s := s
				if m.distinct {
					if s.drawn>>rand&1 != 0 {
						continue
					}
					s.drawn |= 1 << rand
				}
				t := s
				found := m.turnOff(&t, i, rand, true)
				visit(fmt.Sprintf("%d OFF, rand %d", i, rand), t, found)
				if m.flips > 0 {
					t = s
					found = m.turnOff(&t, i, rand, false)
					visit(fmt.Sprintf("%d OFF for an exit, rand %d", i, rand), t, found)
				}
			}
		}
		if m.printed && s.off[i] && s.repeats > 0 {
			for rand := uint32(1); rand <= m.rands; rand++ {
				if s.drawn>>rand&1 == 0 {
					t := s
					t.repeats--
					t.drawn |= 1 << rand
					m.actPrinted(&t, i, t.p[i].SendPause(rand))
					visit(fmt.Sprintf("%d repeats its PAUSE, rand %d", i, rand), t, false)
				}
			}
		}
		free := !(s.paused[i] && s.cause[i]) && !(i == 0 && s.outside.Valid)
		if s.off[i] && s.resumes > 0 && free {
			t := s
			m.turnOn(&t, i)
			visit(fmt.Sprintf("%d ON", i), t, false)
		}
		if s.off[i] && s.flips > 0 && (!s.cause[i] || !s.paused[i]) {
			t := s
			t.cause[i] = !s.cause[i]
			t.flips--
			found := false
			if !m.printed && m.bug != "stuck is judged once" {
				found = m.act(&t, i, t.q[i].Look(t.stuck(i)), Tuple{}, 0, false)
			}
			visit(fmt.Sprintf("%d waits for the loop: %t", i, t.cause[i]), t, found)
		}
	}
	if s.outs > 0 && s.wire[0].n < maxWire-2 {
		t := s
		t.outs--
		if t.outside.Valid {
			t.outside = Tuple{}
		} else {
			t.outside = Tuple{Rand: 0, Sid: 9, Qid: 1, Valid: true}
		}
		found := false
		if !m.printed && t.off[0] {
			found = m.act(&t, 0, t.q[0].Look(t.stuck(0)), Tuple{}, 0, false)
		}
		if m.printed && t.outside.Valid {
			m.actPrinted(&t, 0, t.p[0].PeerGetPause(t.outside))
		} else if m.printed {
			m.actPrinted(&t, 0, t.p[0].PeerGetResume(s.outside))
		}
		visit(fmt.Sprintf("an exit of 0 is paused from outside: %t", t.outside.Valid), t, found)
	}
}

// settles delivers everything in flight, and lets candidates ask again when nothing is. It
// reports what is wrong with the outcome in a closed loop.
func (m *loopModel) settles(s loopState) string {
	retries := 0
	for step := 0; ; step++ {
		if step > 100 {
			return "frames circulate for ever"
		}
		if !m.printed && m.coordinators(&s) > 0 {
			return ""
		}
		busy := false
		for i := range m.n {
			if s.wire[i].n > 0 {
				m.deliver(&s, i)
				busy = true
			}
		}
		if busy {
			continue
		}
		if m.coordinators(&s) > 0 {
			return ""
		}
		if retries++; retries > 3 {
			return "missed deadlock"
		}
		for i := range m.n {
			m.act(&s, i, s.q[i].Retry(), Tuple{}, 0, false)
		}
	}
}

// judge returns what is wrong with a state, or with the step that led to it.
func (m *loopModel) judge(s *loopState, found bool) string {
	if found && !s.closed(m.n) {
		return "false resolution"
	}
	if m.coordinators(s) > 1 {
		return "second coordinator"
	}
	if s.closed(m.n) {
		m.deadlock++
		return m.settles(*s)
	}
	return ""
}

// explore visits every reachable state, nearest first. It returns the first failure (one of want,
// if given) and the shortest trace to it.
func (m *loopModel) explore(want ...string) (wrong string, trace []string) {
	type step struct {
		from int32
		name string
	}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	key := func(s *loopState) [2]uint64 {
		return [2]uint64{maphash.Comparable(seeds[0], *s), maphash.Comparable(seeds[1], *s)}
	}
	first := m.start()
	seen := map[[2]uint64]struct{}{key(&first): {}}
	steps := []step{{-1, ""}}
	names := make(map[string]string) // interned
	type node struct {
		s  loopState
		at int32
	}
	for level := []node{{first, 0}}; len(level) > 0 && wrong == ""; {
		var following []node
		for _, p := range level {
			m.next(p.s, func(name string, s loopState, found bool) {
				m.transitions++
				k := key(&s)
				if _, ok := seen[k]; ok || wrong != "" {
					return
				}
				seen[k] = struct{}{}
				if _, ok := names[name]; !ok {
					names[name] = name
				}
				steps = append(steps, step{p.at, names[name]})
				at := int32(len(steps) - 1)
				why := m.judge(&s, found)
				if why != "" && (len(want) == 0 || strings.Contains(strings.Join(want, ","), why)) {
					wrong = why
					for i := at; i > 0; i = steps[i].from {
						trace = append([]string{steps[i].name}, trace...)
					}
					return
				}
				if why == "" {
					following = append(following, node{s, at})
				}
			})
		}
		level = following
	}
	m.states = len(seen)
	return wrong, trace
}

func (m *loopModel) mustHold(t *testing.T) {
	t.Helper()
	wrong, trace := m.explore()
	t.Logf("N = %d, %d pauses, %d resumes, %d changes of cause, %d of an outside trigger: %d states, %d transitions, %d states with a closed loop",
		m.n, m.pauses, m.resumes, m.flips, m.outs, m.states, m.transitions, m.deadlock)
	if wrong != "" {
		t.Errorf("%s:\n%s", wrong, strings.Join(trace, "\n"))
	}
	if m.deadlock == 0 {
		t.Error("no loop closes: nothing is tested")
	}
}

func TestElectionExplored(t *testing.T) {
	for _, m := range []loopModel{
		{n: 2, pauses: 4, resumes: 2, rands: 2},
		{n: 2, pauses: 4, resumes: 2, flips: 1, outs: 2, rands: 2},
		{n: 3, pauses: 4, resumes: 1, rands: 3},
	} {
		m.mustHold(t)
	}
}

// Each seeded mistake is found.
func TestElectionMistakes(t *testing.T) {
	for _, c := range []struct {
		m    loopModel
		want string
	}{
		{loopModel{n: 2, pauses: 3, resumes: 1, rands: 2, bug: "a tuple is advertised once"}, "missed deadlock"},
		{loopModel{n: 2, pauses: 3, outs: 1, rands: 2, bug: "only an own tuple counts as returned"}, "missed deadlock"},
		{loopModel{n: 2, pauses: 3, resumes: 1, flips: 1, rands: 2, bug: "no confirmation"}, "false resolution"},
		{loopModel{n: 2, pauses: 3, resumes: 1, flips: 1, rands: 2, bug: "stuck is judged once"}, "missed deadlock"},
		{loopModel{n: 2, pauses: 3, outs: 2, rands: 2, bug: "no hop limit"}, "frames circulate for ever"},
	} {
		wrong, trace := c.m.explore()
		if wrong != c.want {
			t.Errorf("%s: found %q, want %q", c.m.bug, wrong, c.want)
		}
		t.Logf("%s: %s\n  %s", c.m.bug, wrong, strings.Join(trace, "\n  "))
	}
}

// Algorithm 1 as printed, with the shortest trace to each of its failures.
func TestPrintedFails(t *testing.T) {
	still := loopModel{n: 3, pauses: 3, rands: 3, distinct: true, printed: true}
	if wrong, trace := still.explore("missed deadlock", "false resolution"); wrong != "" {
		t.Errorf("without a RESUME: %s\n  %s", wrong, strings.Join(trace, "\n  "))
	}
	for _, c := range []struct {
		name string
		m    loopModel
		want string
	}{
		{"a stale T_curr survives a RESUME (line 31)", loopModel{n: 3, pauses: 4, resumes: 1, rands: 4, distinct: true}, "missed deadlock"},
		{"a probe is ignored while the egress stores no frame of the queue", loopModel{n: 2, pauses: 2, flips: 1, rands: 2, distinct: true}, "missed deadlock"},
		{"the tuple of an outside trigger belongs to no queue of the loop", loopModel{n: 2, pauses: 2, outs: 1, rands: 2, distinct: true}, "missed deadlock"},
		{"a refresh draws a new number", loopModel{n: 2, pauses: 2, repeats: 1, rands: 3, distinct: true}, "second coordinator"},
		{"equal random numbers chase each other", loopModel{n: 2, pauses: 2, rands: 1}, "frames circulate for ever"},
		{"the queue drained elsewhere", loopModel{n: 2, pauses: 2, flips: 1, rands: 2, distinct: true, few: true}, "false resolution"},
	} {
		c.m.printed = true
		wrong, trace := c.m.explore(c.want)
		if wrong != c.want {
			t.Errorf("%s: found %q, want %q", c.name, wrong, c.want)
		}
		t.Logf("%s: %s, N = %d\n  %s", c.name, wrong, c.m.n, strings.Join(trace, "\n  "))
	}
}
