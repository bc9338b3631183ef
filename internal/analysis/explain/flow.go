package explain

import (
	"fmt"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Part is a category of the time of a flow.
type Part uint8

// Parts of the time of a flow.
const (
	Serialisation Part = iota // a frame is being sent
	Propagation               // a frame is on a cable, or in the pipeline of a switch
	OwnQueue                  // a frame waits behind frames of the same flow
	Queueing                  // a frame waits behind frames of other flows
	Paused                    // a frame is paused
	Unserved                  // the port is idle and not paused: the frame waits for credit, or for its turn
	Pacing                    // congestion control spaces packets
	Window                    // the window is full until a timer of congestion control opens it
	Lost                      // from a packet's departure until its loss is detected
	Receiver                  // a host has received the frame and not accepted it yet
	Unfinished                // from its last frame to the end of the run
	numParts
)

var partNames = [numParts]string{"serialisation", "propagation", "own queueing", "queueing", "paused", "unserved", "pacing",
	"window", "loss recovery", "receiver", "unfinished"}

func (p Part) String() string { return partNames[p] }

// MarshalText implements encoding.TextMarshaler.
func (p Part) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Step is a span of the critical path of a flow, from its start to its last ACK. Each step
// starts when the previous one ends.
type Step struct {
	From, To units.Time
	Part     Part
	Node     int
	Port     int   // -1: none
	Back     bool  // the frame is an ACK, NACK or CNP
	Round    int   // number of the round trip that the full window waited for; 0: none
	Behind   int32 // Queueing: the other flow; -1: a control frame of the link
	Pause    int   // Paused: index of the pause; -1: unknown
	Seq      uint32
	by       why // Lost: how the loss was detected
}

// walk follows the critical path of a flow backwards.
type walk struct {
	*Run
	flow  int32
	steps []Step // last one first
	round int
}

// Steps returns the critical path of a flow, from its start to its last ACK or to the end of
// the run, without gaps.
func (r *Run) Steps(id int) ([]Step, error) {
	if id < 0 || id >= len(r.flows) {
		return nil, fmt.Errorf("no flow %d (expected 0 to %d)", id, len(r.flows)-1)
	}
	if r.flows[id].neverStarted {
		return nil, fmt.Errorf("flow %d never started (expected a flow in flows.parquet)", id)
	}
	w := &walk{Run: r, flow: int32(id)}
	f := &r.flows[id]
	var err error
	if end, done := r.acked[id]; done {
		w.add(Step{From: end.came, To: end.at, Part: Receiver, Node: f.src, Port: -1, Back: true})
		err = w.arrived(f.src, 0, end.came)
	} else {
		err = w.unfinished()
	}
	if err != nil {
		return nil, fmt.Errorf("flow %d: %w", id, err)
	}
	slices.Reverse(w.steps)
	return w.steps, nil
}

// add adds a step before the known ones. It ignores empty steps.
func (w *walk) add(s Step) {
	if s.From < s.To {
		s.Round = w.round
		w.steps = append(w.steps, s)
	}
}

// arrived walks back from the arrival of a frame at a port to the start of the flow.
func (w *walk) arrived(node, at int, came units.Time) error {
	for {
		i := w.before(node, at, came, w.flow)
		if i < 0 {
			return fmt.Errorf("no frame of the flow reached %s at %s: the record is incomplete", w.names[node], formatExact(came))
		}
		f := &w.frames[i]
		p := &w.ports[f.node][f.port]
		back := f.kind != packet.Data
		sent := f.at + p.takes(f.size)
		w.add(Step{From: sent, To: came, Part: Propagation, Node: int(f.node), Port: int(f.port), Back: back, Seq: f.seq})
		w.add(Step{From: f.at, To: sent, Part: Serialisation, Node: int(f.node), Port: int(f.port), Back: back, Seq: f.seq})
		if !p.host {
			w.waited(f, f.came, f.at, back)
			node, at, came = int(f.node), int(f.in), f.came
			continue
		}
		if back {
			w.waited(f, f.came, f.at, true)
			w.add(Step{From: f.cause, To: f.came, Part: Receiver, Node: int(f.node), Port: -1, Seq: f.seq})
			node, at, came = int(f.node), 0, f.cause
			continue
		}
		var done bool
		if came, done = w.source(i); done {
			return nil
		}
		node, at = int(f.node), 0
	}
}

// source walks back from the departure of a data packet at its source, packet by packet, to
// the start of the flow (done) or to the arrival of the frame that the source waited for.
func (w *walk) source(i int32) (came units.Time, done bool) {
	w.round = 0
	for {
		f := &w.frames[i]
		p := &w.ports[f.node][f.port]
		here := Step{Node: int(f.node), Port: int(f.port), Seq: f.seq}
		step := func(part Part, from, to units.Time) {
			s := here
			s.Part, s.From, s.To = part, from, to
			w.add(s)
		}
		switch f.why {
		case whyStart:
			w.waited(f, f.came, f.at, false)
			step(Pacing, f.since, f.came)
			return 0, true
		case whyAck:
			w.waited(f, f.came, f.at, false)
			w.rounds()
			s := here
			s.Part, s.From, s.To, s.Back = Receiver, f.cause, f.since, true
			w.add(s)
			return f.cause, false
		case whySent, whyTimer:
			last := w.sentBefore(i, -1)
			l := &w.frames[last]
			sent := l.at + p.takes(l.size)
			ready := max(f.came, sent)
			w.waited(f, ready, f.at, false)
			if f.why == whyTimer {
				step(Window, sent, ready)
			} else {
				step(Pacing, sent, ready)
			}
			here.Seq = l.seq
			step(Serialisation, l.at, sent)
			i = last
		default: // a loss was detected
			last := w.sentBefore(i, int64(f.seq))
			w.waited(f, f.came, f.at, false)
			step(Pacing, f.since, f.came)
			s := here
			s.Part, s.From, s.To, s.by = Lost, w.frames[last].at, f.since, f.why
			w.add(s)
			i = last
		}
	}
}

// rounds starts a new round trip that the full window waited for.
func (w *walk) rounds() {
	w.round = 1
	for i := len(w.steps) - 1; i >= 0; i-- {
		if w.steps[i].Round > 0 {
			w.round = w.steps[i].Round + 1
			break
		}
	}
}

// sentBefore returns the data packet of the flow that left its source before frame i. If seq
// is not negative, it returns the previous transmission of that packet.
func (w *walk) sentBefore(i int32, seq int64) int32 {
	list := w.flows[w.flow].sent
	at, _ := slices.BinarySearch(list, i)
	for at--; seq >= 0 && w.frames[list[at]].seq != uint32(seq); at-- {
	}
	return list[at]
}

// waited adds the steps in which a frame waited for its port: paused, queued, or neither.
func (w *walk) waited(f *row, from, to units.Time, back bool) {
	w.divide(f, from, to, func(s Step) {
		s.Back = back
		w.add(s)
	})
}

// divide calls use for the steps in which a frame waits for its port, last one first.
func (r *Run) divide(f *row, from, to units.Time, use func(Step)) {
	p := &r.ports[f.node][f.port]
	blocked := p.blocked[f.queue]
	h := sort.Search(len(blocked), func(i int) bool { return blocked[i].from >= to }) - 1
	b := sort.Search(len(p.sent), func(i int) bool { return r.frames[p.sent[i]].at >= to }) - 1
	for to > from {
		s := Step{To: to, Node: int(f.node), Port: int(f.port), Seq: f.seq, Behind: -1, Pause: -1}
		for h >= 0 && blocked[h].from >= to {
			h--
		}
		for b >= 0 && r.frames[p.sent[b]].at >= to {
			b--
		}
		s.From = from
		if h >= 0 && blocked[h].to >= to {
			s.Part, s.Pause, s.From = Paused, blocked[h].by, max(from, blocked[h].from)
		} else {
			if h >= 0 {
				s.From = max(from, blocked[h].to)
			}
			s.Part = Unserved
			if b >= 0 {
				x := &r.frames[p.sent[b]]
				if end := x.at + p.takes(x.size); end >= to {
					s.Part, s.Behind, s.From = Queueing, x.flow, max(s.From, x.at)
					if x.flow == f.flow {
						s.Part = OwnQueue
					}
				} else {
					s.From = max(s.From, end)
				}
			}
		}
		use(s)
		to = s.From
	}
}

// unfinished walks back from the last movement of a flow that did not finish.
func (w *walk) unfinished() error {
	f := &w.flows[w.flow]
	if len(f.sent) == 0 {
		if f.start < w.end {
			w.add(Step{From: f.start, To: w.end, Part: Unfinished, Node: f.src, Port: -1})
		}
		return nil
	}
	if left := w.remaining(); left >= 0 {
		x := &w.frames[left]
		w.waited(x, x.came, w.end, x.kind != packet.Data)
		return w.arrived(int(x.node), int(x.in), x.came)
	}
	last := f.sent[len(f.sent)-1]
	w.add(Step{From: w.frames[last].at, To: w.end, Part: Unfinished, Node: f.src, Port: 0, Seq: w.frames[last].seq})
	came, done := w.source(last)
	if done {
		return nil
	}
	return w.arrived(f.src, 0, came)
}

// remaining returns the first packet of the flow that still waits in a switch at the end of
// the run, or -1.
func (w *walk) remaining() int32 {
	best := int32(-1)
	for _, ports := range w.ports {
		for p := range ports {
			for _, i := range ports[p].waiting {
				if f := &w.frames[i]; f.flow == w.flow && (best < 0 || f.seq < w.frames[best].seq) {
					best = i
				}
			}
		}
	}
	return best
}

// formatExact formats a time in microseconds with picosecond precision.
func formatExact(t units.Time) string {
	return fmt.Sprintf("%d.%06d us", t/units.Microsecond, t%units.Microsecond)
}
