package probe

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// colsFrame are the columns that describe a frame.
var colsFrame = []Column{
	{Name: "kind", Type: Text, Texts: packet.KindNames(), Doc: "data, ack, nack, cnp, foreign (a real host's frame, live), or a link-local kind"},
	{Name: "flow", Nullable: true, Doc: "id of the flow, as in flows.parquet; null for link-local and foreign frames"},
	{Name: "seq", Nullable: true, Doc: "packet number in its flow; ACK and NACK: the next expected one"},
	{Name: "size_bytes", Doc: "size of the frame"},
}

// frameWords returns the values of colsFrame.
func frameWords(p *packet.Packet) (kind, flow, seq, size int64) {
	if p.Control() || p.Kind() == packet.Foreign {
		return int64(p.Kind()), Null, Null, int64(p.Size)
	}
	return int64(p.Kind()), int64(p.Flow), int64(p.Seq), int64(p.Size)
}

func newDrops(any) (*Kind, error) {
	port := colPort
	port.Doc = "number of the port by which the frame arrived"
	return &Kind{
		Columns: append([]Column{
			port, colClass,
			{Name: "reason", Type: Text, Texts: names(NumReasons, Reason.String), Doc: "why it was dropped"},
		}, colsFrame...),
		Events: true, At: Anywhere,
		Watch: func(p *Target) Watcher { return &drops{Target: p} },
	}, nil
}

type drops struct {
	Ignore
	*Target
}

// Drop implements Sink.
func (w *drops) Drop(now units.Time, port int, p *packet.Packet, why Reason) {
	if w.Ports[port] {
		kind, flow, seq, size := frameWords(p)
		w.Out.Add(now, int64(port), int64(p.Class()), int64(why), kind, flow, seq, size)
	}
}
