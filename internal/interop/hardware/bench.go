package hardware

import (
	"errors"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// bench is a simulated switch with one port that does not send, and a tester that sends
// to it whatever it is told: it is the driver of the switch.
type bench struct {
	sw     *dataplane.Switch
	now    units.Time
	tx     []units.Time // by port: when its wire is free; Never: nobody waits for that
	armed  []int        // ports that wait
	wake   units.Time
	paused []packet.ClassMask // by port: classes that the switch has asked the tester to hold
	out    int                // port that does not send
	frame  units.Bytes
	left   int64 // frames that left there
	checks *dataplane.Checks
}

// pace is the time between two frames of the tester: long enough for a PFC frame.
const pace = 100 * units.Nanosecond

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
		spec.Ports[i].Excused = 1 // the tester does not obey
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
	b.shut(0xff)
	return b, nil
}

// Transmit implements dataplane.Driver.
func (b *bench) Transmit(port int, p *packet.Packet, _ packet.Ext, _ units.Time) {
	switch {
	case p.Kind() == packet.PFC:
		enable, pause, _ := p.PFC()
		b.paused[port] = b.paused[port]&^enable | pause
	case port == b.out:
		b.left++
	}
}

// ArmTx implements dataplane.Driver.
func (b *bench) ArmTx(port int, at units.Time) {
	b.tx[port] = at
	b.armed = append(b.armed, port)
}

// ArmWake implements dataplane.Driver.
func (b *bench) ArmWake(at units.Time) { b.wake = at }

// shut tells the switch which classes its destination takes no frames of.
func (b *bench) shut(classes packet.ClassMask) {
	var f packet.Packet
	f.SetPFC(0xff, classes, 65535)
	b.sw.Arrive(b.now, b.out, &f, nil)
}

// step lets the next timer fire that is due by a time, and reports whether there was one.
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
	p := packet.Packet{Dst: uint16(b.out), Size: uint16(b.frame), Meta: packet.MakeMeta(packet.Data, class)}
	b.sw.Arrive(b.now, in, &p, nil)
	for next := b.now + pace; ; {
		if len(b.armed) == 0 && b.wake > next || !b.step(next) {
			b.now = next
			break
		}
	}
	return b.sw.View().Stored() > before
}

// holds reports whether the switch asks the tester to hold a class.
func (b *bench) holds(port int, class uint8) bool { return b.paused[port].Has(class) }

// What can keep a switch from having a point.
var (
	errTooLong = errors.New("the point is beyond the number of frames that are tried")
	errNoPause = errors.New("the switch drops before it pauses: there is no room for a first frame")
)

// toPause sends until the switch pauses, and returns how many frames that took.
func (b *bench) toPause(in int, class uint8) (int64, error) {
	for n := int64(1); n <= maxFrames; n++ {
		stored := b.send(in, class)
		if b.holds(in, class) {
			return n, nil
		}
		if !stored {
			return 0, errNoPause
		}
	}
	return 0, errTooLong
}

// toDrop sends until a frame is dropped, and returns how many were sent with it.
func (b *bench) toDrop(in int, class uint8) (int64, error) {
	for n := int64(1); n <= maxFrames; n++ {
		if !b.send(in, class) {
			return n, nil
		}
	}
	return 0, errTooLong
}

// toResume opens the destination and returns how many frames leave before the switch
// lets the tester go on; false: it never does.
func (b *bench) toResume(in int, class uint8) (int64, bool) {
	from := b.left
	b.shut(0)
	for b.holds(in, class) {
		if !b.step(units.MaxTime) {
			return 0, false
		}
	}
	return b.left - from, true
}

// points are what is measured of a setup.
type points struct {
	pfc, drop int64   // frames to the first pause, and to the first drop
	resume    int64   // frames that leave before it resumes; 0: it never does
	turns     []int64 // pfc of queues that fill in turn; nil: not tried
	pool      int64   // frames of headroom that all queues together hold then
	none      string  // why there are no points
}

// measure does what the tests of switches do. A frame that leaves gives back headroom
// first, so a switch that was filled to the drop is as it was at the pause when what came
// after that has left.
func (s *setup) measure(checks func() *dataplane.Checks) (*points, error) {
	p := &points{}
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

// maxStored bounds the memory of a test with many queues: frames of a deep buffer beyond
// that are not tried.
const maxStored = 1 << 22

// cost is what a frame takes of the buffer.
func (b *bench) cost() units.Bytes { return b.sw.View().Cells(b.frame) }

// fill makes queues of one part reach their points in turn, then fills their headroom in
// the same order.
func (s *setup) fill(p *points, checks *dataplane.Checks) error {
	b, err := newBench(s, checks)
	if err != nil {
		return err
	}
	classes := s.losslessClasses()
	at := func(queue int) (port int, class uint8) { return queue / len(classes), classes[queue%len(classes)] }
	for q := range s.queues {
		n, err := b.toPause(at(q))
		if err != nil && !errors.Is(err, errNoPause) { // others have left nothing: 0 frames
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

// finish lets the checks count one last time.
func (b *bench) finish() { b.sw.Finish(b.now) }
