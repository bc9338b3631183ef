package probe

import "github.com/xoff-net/xoff/base/units"

func newCC(params any) (*Kind, error) {
	s := params.(*SampleParams)
	if err := s.check(); err != nil {
		return nil, err
	}
	return &Kind{
		Columns: []Column{
			colFlow,
			{Name: "rate_bps", Doc: "rate of the congestion control, at most the link rate"},
			{Name: "window_bytes", Nullable: true, Doc: "window of the congestion control; null: unlimited"},
			{Name: "in_flight_bytes", Doc: "payload sent and not acknowledged"},
		},
		Every: s.Every, At: Hosts,
		Watch: func(p *Target) Watcher { return &ccSamples{Target: p} },
	}, nil
}

type ccSamples struct {
	Ignore
	*Target
}

// unlimited is the threshold above which a window counts as no limit.
const unlimited = 1 << 40 * units.Byte

// Sample implements Watcher.
func (w *ccSamples) Sample(now units.Time) {
	line := w.Node.Rate(0)
	w.Node.EachFlow(now, func(f FlowState) {
		window := int64(f.Window)
		if f.Window > unlimited {
			window = Null
		}
		w.Out.Add(now, int64(f.Flow), int64(min(f.Rate, line)), window, int64(f.InFlight))
	})
}
