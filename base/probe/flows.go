package probe

import "github.com/xoff-net/xoff/base/units"

func newFlows(any) (*Kind, error) {
	return &Kind{
		Columns: []Column{
			colFlow,
			{Name: "event", Type: Text, Texts: names(numFlowEvents, FlowEvent.String),
				Doc: "start, acked and timeout at the source; delivered and nack at the destination"},
		},
		Events: true, At: Hosts,
		Watch: func(p *Place) Watcher { return &flows{Place: p} },
	}, nil
}

type flows struct {
	Ignore
	*Place
}

// Flow implements Sink.
func (w *flows) Flow(now units.Time, flow uint32, what FlowEvent) {
	w.Out.Add(now, int64(flow), int64(what))
}
