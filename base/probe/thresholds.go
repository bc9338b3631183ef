package probe

import "github.com/xoff-net/xoff/base/units"

func newThresholds(params any) (*Kind, error) {
	s := params.(*SampleParams)
	if err := s.check(); err != nil {
		return nil, err
	}
	return &Kind{
		Columns: []Column{
			colPort, colClass,
			{Name: "bytes", Doc: "occupancy of the ingress queue, as the policy measures it"},
			{Name: "xoff_bytes", Doc: "Xoff threshold of the queue"},
			{Name: "off", Type: Bool, Doc: "the queue is OFF"},
		},
		Every: s.Every, At: Switches,
		Watch: func(p *Target) Watcher { return &thresholds{Target: p, zeros: s.Zeros} },
	}, nil
}

// thresholds samples lossless ingress queues.
type thresholds struct {
	Ignore
	*Target
	zeros bool
}

// Sample implements Watcher. It leaves out empty queues unless zeros is set.
func (w *thresholds) Sample(now units.Time) {
	v := w.Node.View()
	w.chosen(func(port int) {
		off := w.Node.OffClasses(port)
		for c := range w.Node.LosslessClasses(port).All() {
			in := v.Ingress(port, c)
			if in.Total() == 0 && !off.Has(c) && !w.zeros {
				continue
			}
			q, xoff := w.Node.Level(now, port, c)
			w.Out.Add(now, int64(port), int64(c), int64(q), int64(xoff), word(off.Has(c)))
		}
	})
}
