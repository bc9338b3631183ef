package deadlock

import (
	"cmp"
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// RoundaboutParams are the parameters of Roundabout.
type RoundaboutParams struct {
	Form      string      `yaml:"form" since:"0.2" allowed:"mended,printed" doc:"loop detection: mended (the paper's Algorithm 1, corrected) or printed (as published: misses loops, reports false ones)"`
	Resolve   bool        `yaml:"resolve" doc:"resolve deadlocks; false: only detect and report them"`
	Redundant units.Bytes `yaml:"redundant" doc:"redundant headroom: buffer that a switch grants at the start of a round"`
	Rounds    int         `yaml:"rounds" doc:"maximum number of rounds for one deadlock; then other coordinators try"`
	Look      units.Time  `yaml:"look" doc:"interval at which waiting queues are checked, besides at each pause and resume"`
	Retry     units.Time  `yaml:"retry" doc:"time after which a coordinator without an answer asks again; doubled up to seven times if answers take longer"`
	Mixed     units.Time  `yaml:"mixed" doc:"a queue blocked by several paused queues together, but by none alone, counts as stuck after this time"`
	Timeout   units.Time  `yaml:"timeout" doc:"a round without progress for this long is given up"`
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

// raQueue is the state of a class of a port.
type raQueue struct {
	e   Election // election of the ingress queue
	reg Tuple    // R of the egress queue: tuple of its last PAUSE
	// mixed is the time since which several egresses together keep the ingress queue OFF; Never:
	// they do not.
	mixed units.Time
	rest  units.Time // no questions before this time: it gave a loop up
	// since is the start of the current relay period, and passed the questions relayed in it.
	since  units.Time
	passed uint8
	slow   uint8 // number of times that retry is doubled, because its loop answers late
	borrow raBorrow
}

// roundabout is Roundabout at one switch. This file is detection (section III): it feeds the
// Election of each lossless ingress queue. roundabout_table.go finds and locks the loop (section
// IV-A); roundabout_round.go rotates it (sections IV-B to IV-D).
//
// docs/deadlock.md lists the decisions where the paper leaves something open.
type roundabout struct {
	s           Switch
	params      RoundaboutParams
	lossless    packet.ClassMask
	frame       units.Bytes        // credit for a frame of any size: buffer bytes of the largest, or more
	queues      []raQueue          // [port*Classes+class]
	printed     []raPrinted        // same index; nil unless form is printed
	off         []packet.ClassMask // by ingress port: classes that pause their upstream
	pausedPorts int                // egress ports with a paused class
	received    []Received         // scratch
	nodes       []NodeID           // scratch
	bad         int64              // number of invalid headers
	timers      struct{ table, round int }
	lock        raLock
	lead        raLead
	round       raRound
	borrowed    int // number of queues whose bytes are lent
	serial      uint32
}

func newRoundabout(params any, s Switch) (Handler, error) {
	p := params.(*RoundaboutParams)
	switch {
	case p.Form != formMended && p.Form != formPrinted:
		return nil, fmt.Errorf("form is %q (allowed: %s, %s)", p.Form, formMended, formPrinted)
	case p.Rounds < 1:
		return nil, fmt.Errorf("rounds is %d (expected 1 or more)", p.Rounds)
	case p.Redundant < 1 || p.Redundant > mmu.MaxBuffer:
		return nil, fmt.Errorf("redundant is %s (expected 1B to %dB)", p.Redundant, int64(mmu.MaxBuffer))
	}
	frame, mtu := units.Bytes(0), units.Bytes(0)
	for port := range s.Ports() {
		frame, mtu = max(frame, s.View().Cells(s.MTU(port))), max(mtu, s.MTU(port))
	}
	if p.Resolve && p.Redundant < frame {
		return nil, fmt.Errorf("redundant is %s: a frame of %s takes %s of buffer (expected %s or more)", p.Redundant, mtu, frame, frame)
	}
	if err := cmp.Or(checkTimer("look", p.Look), checkTimer("retry", p.Retry), checkTimer("mixed", p.Mixed), checkTimer("timeout", p.Timeout)); err != nil {
		return nil, err
	}
	if p.Resolve {
		if err := requireUnpartitioned(s, "resolve: true"); err != nil {
			return nil, err
		}
	}
	h := &roundabout{s: s, params: *p, frame: max(frame, worthFrame), queues: make([]raQueue, s.Ports()*mmu.Classes), off: make([]packet.ClassMask, s.Ports())}
	for i := range h.queues {
		h.queues[i] = raQueue{e: NewElection(s.ID(), uint16(i)), mixed: units.Never}
	}
	if p.Form == formPrinted {
		h.printed = newPrinted(s.ID(), len(h.queues))
	}
	for c := range uint8(mmu.Classes) {
		if s.View().Kind(c) == mmu.Lossless {
			h.lossless |= 1 << c
		}
	}
	h.timers.table, h.timers.round = s.NewTimer(), s.NewTimer()
	h.round.missed = make([]bool, s.Ports())
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

// stuckOn reports whether an ingress queue that pauses its upstream stays OFF while an egress
// queue is paused: Xon or more of its bytes, or all of them, wait for that egress. A queue whose
// whole port is paused waits for all classes.
func (h *roundabout) stuckOn(now units.Time, in int, class uint8, out int, of uint8) bool {
	if !h.s.GatedClasses(out).Has(of) || class != of && !h.s.WholePort(in) {
		return false
	}
	waits := h.s.View().Pair(in, out, of).Bytes
	return waits > 0 && (h.enough(now, in, class, waits) || now-h.at(in, class).mixed >= h.params.Mixed)
}

// enough reports whether a queue stays OFF while the given bytes of it wait.
func (h *roundabout) enough(now units.Time, in int, class uint8, waits units.Bytes) bool {
	v := h.s.View()
	all, times := v.Ingress(in, class), units.Bytes(1)
	if h.s.WholePort(in) {
		all, times = v.IngressPort(in, h.lossless), units.Bytes(h.lossless.Count())
	}
	_, xoff := h.s.Level(now, in, class)
	return waits == all.Total() || waits-all.Private >= times*xoff
}

// stuck lists the egress queues that block an ingress queue. Several may block it together, but
// none alone. Certainty would need to know whether all of them stay paused, so time decides.
func (h *roundabout) stuck(now units.Time, in int, class uint8) []Received {
	h.received = h.received[:0]
	q, of := h.at(in, class), packet.MaskOf(class)
	if h.s.WholePort(in) {
		of = h.lossless
	}
	sum := units.Bytes(0)
	for out := range h.off {
		for c := range (h.s.GatedClasses(out) & of).All() {
			sum += h.s.View().Pair(in, out, c).Bytes
			if h.stuckOn(now, in, class, out, c) {
				h.received = append(h.received, Received{uint16(out*mmu.Classes + int(c)), h.at(out, c).reg})
			}
		}
	}
	switch {
	case sum == 0 || !h.enough(now, in, class, sum):
		q.mixed = units.Never
	case q.mixed == units.Never:
		q.mixed = now
	}
	return h.received
}

// Paused implements Handler: an ingress queue turns OFF or ON. The PFC frame that is about to
// leave carries the tuple.
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
		h.act(now, port, class, say)
	}
	if h.pausedPorts > 0 {
		h.wake(now)
	}
}

// wake arms the next check. No timer is armed while no egress is paused.
func (h *roundabout) wake(now units.Time) { h.s.WakeAt(0, now+h.params.Look) }

// OnPFC implements Handler: a header for each paused class.
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

// Gated implements Handler. The header of the PAUSE was handled before.
func (h *roundabout) Gated(now units.Time, port int, from, to packet.ClassMask) {
	switch {
	case from == 0 && to != 0:
		h.pausedPorts++
	case from != 0 && to == 0:
		h.pausedPorts--
	}
	h.lookAll(now)
	if h.pausedPorts > 0 {
		h.wake(now)
	}
}

// Control implements Handler.
func (h *roundabout) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if f.Kind() == packet.PFC {
		for len(ext) > 0 {
			hdr, rest, ok := decodeHeader(ext, nil)
			if !ok || hdr.Op != OpProbe || len(hdr.Nodes) != 0 {
				h.badHeader(now, port)
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
		h.badHeader(now, port)
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

// badHeader counts and reports an invalid header.
func (h *roundabout) badHeader(now units.Time, port int) {
	h.bad++
	h.s.Report(now, BadHeader, port, -1, h.bad)
}

// lookAll updates the election of every queue that is OFF.
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
		h.stuck(now, in, class) // updates mixed
		q.e.Candidate = h.printed[in*mmu.Classes+int(class)].Found
	} else {
		h.act(now, in, class, q.e.Look(h.stuck(now, in, class)))
	}
	if !q.e.Candidate {
		h.stepDown(in, class)
	}
}

// act performs the actions of an Election, except for answers to a question.
func (h *roundabout) act(now units.Time, in int, class uint8, y Actions) {
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
		if h.pausedPorts > 0 || h.borrowed > 0 {
			h.wake(now)
		}
	}
}
