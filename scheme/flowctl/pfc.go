package flowctl

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// PauseGate is the sending end of PFC: it blocks paused classes until the peer resumes them or
// the pause expires. Every scheme with dialect PFC uses it.
type PauseGate struct {
	port    Port
	until   [mmu.Classes]units.Time // expiry of the pause, for classes in paused
	paused  packet.ClassMask
	pending []pendingPause // frames still in processing, in order
}

type pendingPause struct {
	at     units.Time
	enable packet.ClassMask
	pause  packet.ClassMask
	quanta uint16
}

// NewPauseGate returns a gate with no class paused.
func NewPauseGate(p Port) *PauseGate { return &PauseGate{port: p} }

// Control implements Gate.
func (g *PauseGate) Control(now units.Time, f *packet.Packet, _ packet.Ext) {
	if f.Kind() != packet.PFC {
		return
	}
	enable, pause, quanta := f.PFC()
	delay := g.port.Spec().PFC.Processing
	if delay == 0 {
		g.apply(now, enable, pause, quanta)
		return
	}
	g.pending = append(g.pending, pendingPause{now + delay, enable, pause, quanta})
	g.arm()
}

func (g *PauseGate) apply(now units.Time, enable, pause packet.ClassMask, quanta uint16) {
	spec := g.port.Spec()
	end := units.Never
	if !spec.PeerPFC().Indefinite {
		end = now + packet.Quanta(quanta, spec.Rate)
	}
	if quanta == 0 {
		pause = 0
	}
	g.paused = g.paused&^enable | pause
	for c := range pause.All() {
		g.until[c] = end
	}
	g.port.Block(now, g.paused)
	g.arm()
}

func (g *PauseGate) arm() {
	next := units.Never
	for c := range g.paused.All() {
		next = min(next, g.until[c])
	}
	if len(g.pending) > 0 {
		next = min(next, g.pending[0].at)
	}
	g.port.WakeAt(0, next)
}

// Frame implements Gate: a pause gate sends nothing.
func (g *PauseGate) Frame(_ units.Time, _ *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	return ext, false
}

// Wake implements Gate: frames take effect, pauses expire.
func (g *PauseGate) Wake(now units.Time, _ int) {
	for len(g.pending) > 0 && g.pending[0].at <= now {
		p := g.pending[0]
		g.pending = append(g.pending[:0], g.pending[1:]...)
		g.apply(now, p.enable, p.pause, p.quanta)
	}
	expired := packet.ClassMask(0)
	for c := range g.paused.All() {
		if g.until[c] <= now {
			expired |= 1 << c
		}
	}
	if expired != 0 {
		g.paused &^= expired
		g.port.Block(now, g.paused)
	}
	g.arm()
}

// Reset implements Gate: a link that changed state has no pauses.
func (g *PauseGate) Reset(now units.Time, _ bool) {
	g.paused, g.pending = 0, g.pending[:0]
	g.port.Block(now, 0)
	g.arm()
}

// PauseSender is the receiving end of PFC: it sends PAUSE and RESUME frames to the peer and
// refreshes a pause while it lasts. A frame is built from the state at the moment it leaves, so
// changes before that cost nothing. Receivers embed it and call Want. It owns timer 0.
type PauseSender struct {
	want    packet.ClassMask // classes that the queues want paused
	storm   packet.ClassMask // classes paused by a stuck host, regardless of want
	sent    packet.ClassMask // classes that the last frame paused
	refresh packet.ClassMask // classes whose PAUSE must be repeated
	port    Port
	changes []packet.ClassMask // link.PFC.Ordered: values of want not yet sent
}

// NewPauseSender returns a sender with no class paused.
func NewPauseSender(p Port) PauseSender { return PauseSender{port: p} }

// Paused returns the classes that the queues want paused.
func (s *PauseSender) Paused() packet.ClassMask { return s.want }

// pauses reports whether a class is to stay paused, with no RESUME of it waiting to be sent.
func (s *PauseSender) pauses(class uint8) bool {
	all := s.want
	for _, c := range s.changes {
		all &= c
	}
	return all.Has(class)
}

// Want sets the classes that the queues want paused.
func (s *PauseSender) Want(now units.Time, mask packet.ClassMask) { s.set(now, mask, s.storm) }

// Storm sets the classes that a stuck host pauses in addition.
func (s *PauseSender) Storm(now units.Time, mask packet.ClassMask) { s.set(now, s.want, mask) }

func (s *PauseSender) set(now units.Time, want, storm packet.ClassMask) {
	before, queues := s.want|s.storm, s.want
	s.want, s.storm = want, storm
	if want|storm == before && want == queues {
		return
	}
	if spec := s.port.Spec(); spec.PFC.Ordered && want|storm != before {
		if len(s.changes) == spec.PauseFrames() {
			s.changes = s.changes[:len(s.changes)-1]
		}
		s.changes = append(s.changes, want|storm)
	}
	// Also if only the queues changed during a storm: probes learn of OFF queues from requests.
	s.port.Request(now)
}

// Frame implements Receiver.
func (s *PauseSender) Frame(now units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	want := s.want | s.storm
	for len(s.changes) > 0 {
		want = s.changes[0]
		s.changes = append(s.changes[:0], s.changes[1:]...)
		if want != s.sent {
			break // after a Reset the first change may tell the peer nothing new
		}
	}
	if want^s.sent|s.refresh&want == 0 {
		return ext, false
	}
	spec := s.port.Spec()
	// A frame that changes one class repeats the pause of the others: they share
	// one refresh timer.
	f.SetPFC(want|s.sent, want, spec.PFC.Quanta)
	if spec.PFC.Size != 0 {
		f.Size = spec.PFC.Size
	}
	s.sent, s.refresh = want, 0
	if want == 0 || spec.PFC.Indefinite {
		s.port.WakeAt(0, units.Never)
	} else {
		s.port.WakeAt(0, now+max(1, packet.Quanta(spec.PFC.Quanta, spec.Rate)/2))
	}
	return ext, true
}

// Repeat implements Repeater.
func (s *PauseSender) Repeat(now units.Time, mask packet.ClassMask) {
	if again := mask & s.sent; again != 0 {
		s.refresh |= again
		s.port.Request(now)
	}
}

// Control implements Receiver: PFC has no frames in that direction.
func (s *PauseSender) Control(units.Time, *packet.Packet, packet.Ext) {}

// Wake implements Receiver: half of the pause time is over. All sent pauses are due, even if a
// RESUME waits for the wire: if that is cancelled, the pause must still be refreshed.
func (s *PauseSender) Wake(now units.Time, _ int) {
	s.refresh = s.sent
	s.port.Request(now)
}

// Reset implements Receiver: the peer has lost all pauses.
func (s *PauseSender) Reset(now units.Time, up bool) {
	s.sent, s.refresh, s.changes = 0, 0, s.changes[:0]
	s.port.WakeAt(0, units.Never)
	if up && s.want|s.storm != 0 {
		s.port.Request(now)
	}
}
