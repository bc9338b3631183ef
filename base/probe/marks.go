package probe

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

func newMarks(any) (*Kind, error) {
	return &Kind{
		Columns: append([]Column{
			colPort, colClass,
			{Name: "queue_bytes", Doc: "bytes in the egress queue; excludes the marked frame if it is marked on leaving"},
		}, colsFrame...),
		Events: true, At: Switches,
		Watch: func(p *Target) Watcher { return &marks{Target: p} },
	}, nil
}

type marks struct {
	Ignore
	*Target
}

// Marked implements Sink.
func (w *marks) Marked(now units.Time, port int, p *packet.Packet) {
	if w.Ports[port] {
		kind, flow, seq, size := frameWords(p)
		w.Out.Add(now, int64(port), int64(p.Class()), int64(w.Node.View().Egress(port, p.Class())), kind, flow, seq, size)
	}
}
