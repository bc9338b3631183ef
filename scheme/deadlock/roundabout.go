package deadlock

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// RoundaboutParams are the parameters of Roundabout.
type RoundaboutParams struct {
	Form      string      `yaml:"form" since:"0.2" allowed:"mended,printed" doc:"loop detection: mended (the paper's Algorithm 1, completed) or printed (as published: misses loops and finds false ones)"`
	Resolve   bool        `yaml:"resolve" doc:"false: deadlocks are detected and reported only"`
	Redundant units.Bytes `yaml:"redundant" doc:"what a switch grants of its buffer at the beginning of a round: its redundant headroom"`
	Rounds    int         `yaml:"rounds" doc:"rounds for one deadlock at most; then it is left to others"`
	Look      units.Time  `yaml:"look" doc:"how often queues that wait are looked at, besides at each pause and resume"`
	Retry     units.Time  `yaml:"retry" doc:"after how long a coordinator that got no answer asks again; doubled, up to seven times, where answers take longer"`
	Mixed     units.Time  `yaml:"mixed" doc:"a queue that waits for several paused queues, none of which holds enough of it, is taken for stuck after so long"`
	Timeout   units.Time  `yaml:"timeout" doc:"a round in which nothing moves for so long is given up"`
}

// Forms of detection.
const (
	formMended  = "mended"
	formPrinted = "printed"
)

func defaultRoundabout() any {
	return &RoundaboutParams{
		Form: formMended, Resolve: true, Redundant: 25 * units.KB, Rounds: 1000, Look: 2 * units.Microsecond, Retry: 50 * units.Microsecond, Mixed: 50 * units.Microsecond, Timeout: 2 * units.Millisecond,
	}
}

// raQueue is what Roundabout knows of a class of a port.
type raQueue struct {
	e   Election // of the ingress queue
	reg Tuple    // R of the egress queue: what its last PAUSE said
	// mixed is since when all that the ingress queue needs waits for several egresses;
	// Never: it does not.
	mixed units.Time
	rest  units.Time // until then it does not ask: it gave a loop up
	// since is when it began to count what it passes on, and passed how much that is.
	since  units.Time
	passed uint8
	slow   uint8 // how often retry is doubled: its loop answers late
}

// roundabout is Roundabout at one switch. This file is detection, section III: it feeds
// the Election of each lossless ingress queue. roundabout_table.go finds and locks the
// loop, section IV-A; roundabout_round.go turns it, sections IV-B to IV-D.
//
// docs/deadlock.md has what was decided where the paper leaves something open.
type roundabout struct {
	s        Switch
	params   RoundaboutParams
	lossless packet.ClassMask
	queues   []raQueue          // [port*Classes+class]
	printed  []raPrinted        // the same, in the printed form
	off      []packet.ClassMask // by ingress port: classes that hold their upstream
	held     int                // egress ports of which something is paused
	heard    []Heard            // scratch
	nodes    []NodeID           // scratch
	bad      int64              // headers that could not be read
	timers   struct{ table, round int }
	lock     raLock
	lead     raLead
	round    raRound
	borrows  []raBorrow // by ingress port
	serial   uint32
}

func newRoundabout(params any, s Switch) (Handler, error) {
	p := params.(*RoundaboutParams)
	switch {
	case p.Form != formMended && p.Form != formPrinted:
		return nil, fmt.Errorf("form cannot be %q; allowed: %s, %s", p.Form, formMended, formPrinted)
	case p.Rounds < 1:
		return nil, fmt.Errorf("rounds is %d; allowed: 1 or more", p.Rounds)
	case p.Redundant < 1 || p.Redundant > mmu.MaxBuffer:
		return nil, fmt.Errorf("redundant is %s; allowed: 1B to %dB; less than a frame of the largest size may not be enough", p.Redundant, int64(mmu.MaxBuffer))
	}
	if err := cmp.Or(timer("look", p.Look), timer("retry", p.Retry), timer("mixed", p.Mixed), timer("timeout", p.Timeout)); err != nil {
		return nil, err
	}
	if p.Resolve {
		if err := whole(s, "resolve is true, and roundabout"); err != nil {
			return nil, err
		}
	}
	h := &roundabout{s: s, params: *p, queues: make([]raQueue, s.Ports()*mmu.Classes), off: make([]packet.ClassMask, s.Ports())}
	for i := range h.queues {
		h.queues[i] = raQueue{e: NewElection(s.Node(), uint16(i)), mixed: units.Never}
	}
	if p.Form == formPrinted {
		h.printed = newPrinted(s.Node(), len(h.queues))
	}
	for c := range uint8(mmu.Classes) {
		if s.View().Kind(c) == mmu.Lossless {
			h.lossless |= 1 << c
		}
	}
	h.timers.table, h.timers.round = s.NewTimer(), s.NewTimer()
	h.round.missed, h.borrows = make([]bool, s.Ports()), make([]raBorrow, s.Ports())
	return h, nil
}

// NeedsPairs implements Pairs: which ingress waits for which egress.
func (*roundabout) NeedsPairs() {}

// NeedsOrder implements Ordered.
func (*roundabout) NeedsOrder() {}

// Patience implements Patient.
func (h *roundabout) Patience() units.Time { return 10*h.params.Retry + h.params.Timeout }

func (h *roundabout) at(port int, class uint8) *raQueue {
	return &h.queues[port*mmu.Classes+int(class)]
}

// stuckOn reports whether an ingress queue that holds its upstream will go on holding it
// while an egress queue is paused: it keeps Xon or more for that, or everything that is
// left of it. A queue whose port is paused as a whole waits for all classes.
func (h *roundabout) stuckOn(now units.Time, in int, class uint8, out int, of uint8) bool {
	if !h.s.GatedClasses(out).Has(of) || class != of && !h.s.WholePort(in) {
		return false
	}
	waits := h.s.View().Pair(in, out, of).Bytes
	return waits > 0 && (h.enough(now, in, class, waits) || now-h.at(in, class).mixed >= h.params.Mixed)
}

// enough reports whether a queue stays OFF as long as so much of it waits.
func (h *roundabout) enough(now units.Time, in int, class uint8, waits units.Bytes) bool {
	v := h.s.View()
	all, times := v.Ingress(in, class), units.Bytes(1)
	if h.s.WholePort(in) {
		all, times = v.IngressPort(in, h.lossless), units.Bytes(h.lossless.Count())
	}
	_, xoff := h.s.Level(now, in, class)
	return waits == all.Total() || waits-all.Private >= times*xoff
}

// stuck lists what holds an ingress queue. Several egresses may hold it together, of
// which each alone would not: to be sure one would have to know whether all of them stay
// paused, so time decides.
func (h *roundabout) stuck(now units.Time, in int, class uint8) []Heard {
	h.heard = h.heard[:0]
	q, of := h.at(in, class), packet.MaskOf(class)
	if h.s.WholePort(in) {
		of = h.lossless
	}
	sum := units.Bytes(0)
	for out := range h.off {
		for c := range (h.s.GatedClasses(out) & of).All() {
			sum += h.s.View().Pair(in, out, c).Bytes
			if h.stuckOn(now, in, class, out, c) {
				h.heard = append(h.heard, Heard{uint16(out*mmu.Classes + int(c)), h.at(out, c).reg})
			}
		}
	}
	switch {
	case sum == 0 || !h.enough(now, in, class, sum):
		q.mixed = units.Never
	case q.mixed == units.Never:
		q.mixed = now
	}
	return h.heard
}

// Paused implements Handler: an ingress queue turns OFF or ON. The frame that says so is
// about to leave and takes the tuple along.
func (h *roundabout) Paused(now units.Time, port int, from, to packet.ClassMask) {
	h.off[port] = to & h.lossless
	for class := range ((from ^ to) & h.lossless).All() {
		q := h.at(port, class)
		e := &q.e
		if h.printed != nil {
			h.printedPaused(port, class, to.Has(class))
		}
		if !to.Has(class) {
			e.Resume()
			q.rest = 0
			h.stepDown(port, class)
			continue
		}
		if h.printed != nil {
			continue
		}
		say := e.Pause(uint32(h.s.Rand().Uint64()), h.stuck(now, port, class))
		say.Advertise = false
		h.say(now, port, class, say)
	}
	if h.held > 0 {
		h.wake(now)
	}
}

// wake arms the next look. Nothing is armed while no egress is paused.
func (h *roundabout) wake(now units.Time) { h.s.WakeAt(0, now+h.params.Look) }

// OnPFC implements Handler: a header for each class that is paused.
func (h *roundabout) OnPFC(_ units.Time, port int, f *packet.Packet, ext packet.Ext) packet.Ext {
	enable, pause, _ := f.PFC()
	if h.printed != nil {
		ext = h.printedOnPFC(port, enable&^pause, ext)
	}
	for class := range (pause & h.lossless).All() {
		if adv := h.at(port, class).e.Adv; adv.Valid {
			hdr := Header{Op: OpProbe, Class: class, T: adv}
			ext = hdr.Append(ext)
		}
	}
	return ext
}

// Gated implements Handler. What the pause said has come before.
func (h *roundabout) Gated(now units.Time, port int, from, to packet.ClassMask) {
	switch {
	case from == 0 && to != 0:
		h.held++
	case from != 0 && to == 0:
		h.held--
	}
	h.lookAll(now)
	if h.held > 0 {
		h.wake(now)
	}
}

// Control implements Handler.
func (h *roundabout) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if f.Kind() == packet.PFC {
		for len(ext) > 0 {
			hdr, rest, ok := decodeHeader(ext, nil)
			if !ok || hdr.Op != OpProbe || len(hdr.Nodes) != 0 {
				h.refuse(now, port)
				break
			}
			if h.printed != nil {
				h.printedProbe(now, port, f, &hdr)
			}
			h.at(port, hdr.Class).reg = hdr.T
			ext = rest
		}
		if h.s.GatedClasses(port) != 0 {
			h.lookAll(now)
		}
		return
	}
	hdr, rest, ok := decodeHeader(ext, h.nodes[:0])
	if !ok || len(rest) != 0 || !h.lossless.Has(hdr.Class) {
		h.refuse(now, port)
		return
	}
	h.nodes = hdr.Nodes[:0]
	switch hdr.Op {
	case OpInvalid:
		h.printedInvalid(now, port, &hdr)
	case OpRoute:
		h.question(now, port, &hdr)
	case OpTable:
		h.table(now, port, &hdr)
	case OpCredit:
		h.credit(now, port, &hdr)
	case OpCheck:
		h.check(now, port, &hdr)
	}
}

// refuse counts a header that says nothing.
func (h *roundabout) refuse(now units.Time, port int) {
	h.bad++
	h.s.Report(now, BadHeader, port, -1, h.bad)
}

// lookAll lets every queue that is OFF look at what holds it.
func (h *roundabout) lookAll(now units.Time) {
	for in, off := range h.off {
		for class := range off.All() {
			h.look(now, in, class)
		}
	}
}

func (h *roundabout) look(now units.Time, in int, class uint8) {
	q := h.at(in, class)
	if h.printed != nil {
		h.stuck(now, in, class) // since when it is
		q.e.Candidate = h.printed[in*mmu.Classes+int(class)].Found
	} else {
		h.say(now, in, class, q.e.Look(h.stuck(now, in, class)))
	}
	if !q.e.Candidate {
		h.stepDown(in, class)
	}
}

// say does what an Election wants done, but for what belongs to a question.
func (h *roundabout) say(now units.Time, in int, class uint8, y Say) {
	if y.Advertise && !h.s.ToHost(in) {
		h.s.Repeat(now, in, 1<<class)
	}
	if y.Ask {
		h.ask(now, in, class)
	}
}

// Wake implements Handler.
func (h *roundabout) Wake(now units.Time, timer int) {
	switch timer {
	case h.timers.table:
		h.overdue(now)
	case h.timers.round:
		h.roundOverdue(now)
	default:
		h.lookAll(now)
		h.repay(now)
		h.askNext(now)
		if h.held > 0 || slices.ContainsFunc(h.borrows, func(b raBorrow) bool { return b.on }) {
			h.wake(now)
		}
	}
}
