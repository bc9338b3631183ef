package probe

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Effect of a PFC frame on a class.
const (
	pausesClass = iota
	resumesClass
	refreshesClass
)

// Why a queue was paused.
const (
	causeHeadroom  = iota // the queue uses headroom
	causeThreshold        // the queue uses no headroom: the threshold fell below its length
	causePort             // the queue is empty: the whole port is paused
	causeHost             // the host is slow or stuck
)

func newPause(any) (*Kind, error) {
	return &Kind{
		Columns: []Column{
			colPort, colClass,
			{Name: "way", Type: Text, Texts: []string{"sent", "received"}, Doc: "sent by this port, or received by it"},
			{Name: "event", Type: Text, Texts: []string{"pause", "resume", "refresh"},
				Doc: "pause: the class was not paused before; refresh: it was"},
			{Name: "quanta", Doc: "pause time of the frame; 0 for a resume"},
			{Name: "cause", Type: Text, Texts: []string{"headroom", "threshold", "port", "host"}, Nullable: true,
				Doc: "of a sent pause: the queue uses headroom; the threshold fell below its length; the whole port is paused; the host is slow or stuck"},
			{Name: "depth", Doc: "propagation depth of a pause or refresh, 0 for a resume"},
			{Name: "ingress_bytes", Doc: "bytes in the ingress queue of the port"},
			{Name: "egress_bytes", Doc: "bytes in the egress queue of the port"},
		},
		Events: true, At: Anywhere,
		Watch: func(p *Target) Watcher {
			return &pause{Target: p, known: [2][]packet.ClassMask{make([]packet.ClassMask, len(p.Ports)), make([]packet.ClassMask, len(p.Ports))}}
		},
	}, nil
}

type pause struct {
	Ignore
	*Target
	known [2][]packet.ClassMask // by direction and port: classes that are paused
}

// Depart implements Sink.
func (w *pause) Depart(now units.Time, port int, p *packet.Packet) { w.frame(now, 0, port, p) }

// Arrive implements Sink.
func (w *pause) Arrive(now units.Time, port int, p *packet.Packet) { w.frame(now, 1, port, p) }

func (w *pause) frame(now units.Time, direction, port int, p *packet.Packet) {
	if p.Kind() != packet.PFC || !w.Ports[port] {
		return
	}
	enable, pause, quanta := p.PFC()
	if quanta == 0 {
		pause = 0
	}
	known := &w.known[direction][port]
	before := *known
	*known = before&^enable | pause
	v := w.Node.View()
	for c := range enable.All() {
		event, time, cause, depth := int64(resumesClass), int64(0), int64(Null), int64(0)
		if pause.Has(c) {
			event, time, depth = pausesClass, int64(quanta), int64(p.PauseDepth(c))
			if before.Has(c) {
				event = refreshesClass
			} else if direction == 0 {
				cause = w.cause(v, port, c)
			}
		}
		in := v.Ingress(port, c)
		w.Out.Add(now, int64(port), int64(c), int64(direction), event, time, cause, depth, int64(in.Total()), int64(v.Egress(port, c)))
	}
}

func (w *pause) cause(v mmu.View, port int, class uint8) int64 {
	in := v.Ingress(port, class)
	switch {
	case w.Host:
		return causeHost
	case in.Headroom > 0:
		return causeHeadroom
	case in.Total() > 0:
		return causeThreshold
	}
	return causePort
}
