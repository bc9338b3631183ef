package dataplane

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// PauseLog records every pause that a node sends and the pause that caused it. A node without
// a log pays one nil check per PFC frame.
type PauseLog struct {
	Pauses   []PauseRecord      // in order of Sent
	current  []int32            // by ingress port and class: 1 + index of the current pause; 0: none
	pausedAt []units.Time       // by egress port and class: arrival of the frame that started the pause
	paused   []packet.ClassMask // by egress port: classes that the peer has paused
}

// PauseRecord is one pause of one class, from the PAUSE to the RESUME.
type PauseRecord struct {
	Sent  units.Time // first bit of the PAUSE
	Ended units.Time // first bit of the RESUME, or change of the link; Never: still paused
	Port  uint16
	Class uint8
	Depth uint8
	// Caused: frames of the paused queue wait for the egress queue (ByPort, ByClass), which
	// its own peer has paused with a frame that arrived at Since.
	Caused  bool
	ByClass uint8
	ByPort  uint16
	Since   units.Time
}

// NewPauseLog returns an empty log for a node.
func NewPauseLog(ports int) *PauseLog {
	n := ports * mmu.Classes
	return &PauseLog{current: make([]int32, n), pausedAt: make([]units.Time, n), paused: make([]packet.ClassMask, ports)}
}

// received records the pauses that a PFC frame from the peer starts and ends.
func (l *PauseLog) received(now units.Time, p *port, f *packet.Packet) {
	enable, pause, quanta := f.PFC()
	if quanta == 0 {
		pause = 0
	}
	for c := range (pause &^ l.paused[p.index]).All() {
		l.pausedAt[p.queueID(c)] = now
	}
	l.paused[p.index] = l.paused[p.index]&^enable | pause
}

func (l *PauseLog) sent(now units.Time, p *port, class uint8, depth int, by pauseCause) {
	r := PauseRecord{Sent: now, Ended: units.Never, Port: p.index, Class: class, Depth: uint8(depth)}
	if by.depth > 0 {
		r.Caused, r.ByPort, r.ByClass = true, by.port, by.class
		r.Since = l.pausedAt[int(by.port)*mmu.Classes+int(by.class)]
	}
	l.Pauses = append(l.Pauses, r)
	l.current[p.queueID(class)] = int32(len(l.Pauses))
}

func (l *PauseLog) resumed(now units.Time, p *port, mask packet.ClassMask) {
	for c := range mask.All() {
		q := p.queueID(c)
		if i := l.current[q]; i != 0 {
			l.Pauses[i-1].Ended = now
			l.current[q] = 0
		}
	}
}

// reset follows a change of the link, which ends the pauses in both directions.
func (l *PauseLog) reset(now units.Time, p *port) {
	l.resumed(now, p, packet.AllClasses)
	l.paused[p.index] = 0
}

// PauseLog returns the log of the node, or nil.
func (n *node) PauseLog() *PauseLog { return n.log }
