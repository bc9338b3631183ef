package hardware

import (
	"errors"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// bench drives a simulated switch: one output port is blocked, and a tester sends to it
// regardless of pauses.
type bench struct {
	sw       *dataplane.Switch
	now      units.Time
	tx       []units.Time // by port: when its transmission ends; Never: no timer is armed
	armed    []int        // ports with an armed timer
	wake     units.Time
	paused   []packet.ClassMask // by port: classes that the switch has paused
	out      int                // blocked output port
	frame    units.Bytes
	departed int64 // frames sent by the port out
	checks   *dataplane.Checks
}

// interval is the time between two frames of the tester, long enough for a PFC frame.
const interval = 100 * units.Nanosecond

func newBench(s *setup, checks *dataplane.Checks) (*bench, error) {
	l, err := s.layout()
	if err != nil {
		return nil, err
	}
	node := l.Graph.Hosts
	spec, err := l.Switch(node, l.Tables()[node])
	if err != nil {
		return nil, err
	}
	for i := range spec.Ports {
		spec.Ports[i].Excused = 1 // the tester ignores pauses
	}
	spec.Checks = checks
	b := &bench{out: s.ports - 1, frame: s.frame, wake: units.Never, checks: checks, tx: make([]units.Time, s.ports), paused: make([]packet.ClassMask, s.ports)}
	for i := range b.tx {
		b.tx[i] = units.Never
	}
	if b.sw, err = dataplane.NewSwitch(spec, b); err != nil {
		return nil, err
	}
	b.sw.Start(0)
	b.block(0xff)
	return b, nil
}

// Transmit implements dataplane.Driver.
func (b *bench) Transmit(port int, p *packet.Packet, _ packet.Ext, _ units.Time) {
	switch {
	case p.Kind() == packet.PFC:
		enable, pause, _ := p.PFC()
		b.paused[port] = b.paused[port]&^enable | pause
	case port == b.out:
		b.departed++
	}
}

// ArmTx implements dataplane.Driver.
func (b *bench) ArmTx(port int, at units.Time) {
	b.tx[port] = at
	b.armed = append(b.armed, port)
}

// ArmWake implements dataplane.Driver.
func (b *bench) ArmWake(at units.Time) { b.wake = at }

// block pauses classes of the output port; block(0) opens it.
func (b *bench) block(classes packet.ClassMask) {
	var f packet.Packet
	f.SetPFC(0xff, classes, 65535)
	b.sw.Arrive(b.now, b.out, &f, nil)
}

// step fires the next timer that is due by until, and reports whether there was one.
func (b *bench) step(until units.Time) bool {
	first := -1
	for i, port := range b.armed {
		if first < 0 || b.tx[port] < b.tx[b.armed[first]] {
			first = i
		}
	}
	switch {
	case first >= 0 && b.tx[b.armed[first]] <= min(until, b.wake):
		port := b.armed[first]
		b.armed = append(b.armed[:first], b.armed[first+1:]...)
		b.now, b.tx[port] = max(b.now, b.tx[port]), units.Never
		b.sw.TxDone(b.now, port)
	case b.wake <= until:
		b.now, b.wake = max(b.now, b.wake), units.Never
		b.sw.Wake(b.now)
	default:
		return false
	}
	return true
}

// send sends a frame and reports whether it was stored.
func (b *bench) send(in int, class uint8) bool {
	before := b.sw.View().Stored()
	p := packet.Packet{To: uint32(b.out), Size: uint16(b.frame), Meta: packet.MakeMeta(packet.Data, class)}
	p.SetPort(in)
	b.sw.Arrive(b.now, in, &p, nil)
	for next := b.now + interval; ; {
		if len(b.armed) == 0 && b.wake > next || !b.step(next) {
			b.now = next
			break
		}
	}
	return b.sw.View().Stored() > before
}

// pausing reports whether the switch pauses a class of the tester.
func (b *bench) pausing(port int, class uint8) bool { return b.paused[port].Has(class) }

// Reasons why a threshold cannot be measured.
var (
	errTooManyFrames = errors.New("the threshold is beyond the largest number of frames sent")
	errNoPause       = errors.New("the switch drops before it pauses: it has no room for the first frame")
)

// toPause sends until the switch pauses, and returns the number of frames sent.
func (b *bench) toPause(in int, class uint8) (int64, error) {
	for n := int64(1); n <= maxFrames; n++ {
		stored := b.send(in, class)
		if b.pausing(in, class) {
			return n, nil
		}
		if !stored {
			return 0, errNoPause
		}
	}
	return 0, errTooManyFrames
}

// toDrop sends until a frame is dropped, and returns the number of frames sent.
func (b *bench) toDrop(in int, class uint8) (int64, error) {
	for n := int64(1); n <= maxFrames; n++ {
		if !b.send(in, class) {
			return n, nil
		}
	}
	return 0, errTooManyFrames
}

// toResume opens the output port and returns the number of frames that leave before the
// switch resumes the tester; false: it never does.
func (b *bench) toResume(in int, class uint8) (int64, bool) {
	from := b.departed
	b.block(0)
	for b.pausing(in, class) {
		if !b.step(units.MaxTime) {
			return 0, false
		}
	}
	return b.departed - from, true
}

// measurement has the thresholds measured on a simulated switch, in frames.
type measurement struct {
	pfc, drop int64   // first frame that causes a pause; first frame that is dropped
	resume    int64   // frames that leave before it resumes; 0: never
	turns     []int64 // pfc of queues that fill in turn; nil: not measured
	pool      int64   // frames that these queues store in headroom together
	none      string  // why nothing was measured
}

// measure repeats the tests of real switches. Departing frames release headroom first. So a
// switch filled to the drop is back at its pause threshold once as many frames have left as
// came after the pause.
func (s *setup) measure(checks func() *dataplane.Checks) (*measurement, error) {
	p := &measurement{}
	class := s.losslessClasses()[0]
	b, err := newBench(s, checks())
	if err != nil {
		return nil, err
	}
	if p.pfc, err = b.toPause(0, class); err != nil {
		return nil, err
	}
	more, err := b.toDrop(0, class)
	if err != nil {
		return nil, err
	}
	p.drop = p.pfc + more
	if left, ok := b.toResume(0, class); ok {
		p.resume = left - (more - 1)
	}
	b.finish()
	if s.queues > 1 && min(p.pfc*int64(s.queues), int64((s.size-s.pool)/units.Bytes(s.parts)/b.cost())) <= maxStored {
		return p, s.fill(p, checks())
	}
	return p, nil
}

// maxStored limits the frames stored in a test with many queues. Deeper buffers are not
// tested with several queues.
const maxStored = 1 << 22

// cost returns the bytes of buffer that a frame takes.
func (b *bench) cost() units.Bytes { return b.sw.View().Cells(b.frame) }

// fill fills queues of one partition to their pause thresholds in turn, then their headroom
// in the same order.
func (s *setup) fill(p *measurement, checks *dataplane.Checks) error {
	b, err := newBench(s, checks)
	if err != nil {
		return err
	}
	classes := s.losslessClasses()
	at := func(queue int) (port int, class uint8) { return queue / len(classes), classes[queue%len(classes)] }
	for q := range s.queues {
		n, err := b.toPause(at(q))
		if err != nil && !errors.Is(err, errNoPause) { // the other queues left no room: 0 frames
			return err
		}
		p.turns = append(p.turns, n)
	}
	for q := range s.queues {
		if _, err := b.toDrop(at(q)); err != nil {
			return err
		}
	}
	p.pool = int64(b.sw.View().Used(mmu.Headroom) / b.cost())
	b.finish()
	return nil
}

func (s *setup) losslessClasses() []uint8 {
	if s.classes == 4 {
		return []uint8{3, 4, 2, 6}
	}
	return []uint8{3, 4}
}

// finish runs the invariant checks a last time.
func (b *bench) finish() { b.sw.Finish(b.now) }
