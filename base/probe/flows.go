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
		Watch: func(p *Target) Watcher { return &flows{Target: p} },
	}, nil
}

// flows records the events of flows at a host.
type flows struct {
	Ignore
	*Target
}

// Flow implements Sink.
func (w *flows) Flow(now units.Time, flow uint32, event FlowEvent) {
	w.Out.Add(now, int64(flow), int64(event))
}
