package probe

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

func newDSH(params any) (*Kind, error) {
	s := params.(*SampleParams)
	if err := s.check(); err != nil {
		return nil, err
	}
	return &Kind{
		Columns: []Column{
			colPort, colClass,
			{Name: "estimate_bytes", Doc: "headroom that the queue is thought to need, phi^"},
			{Name: "tau_bytes", Doc: "of that, what it gets from the shared segment"},
			{Name: "shared_bytes", Doc: "what the queue holds in the shared segment"},
			{Name: "xqoff_bytes", Doc: "threshold that it is held against, X_qoff"},
			{Name: "insurance_bytes", Doc: "what the queue holds of its port's insurance"},
			{Name: "port_shared_bytes", Doc: "what the lossless queues of the port hold in the shared segment"},
			{Name: "xpoff_bytes", Doc: "threshold that they are held against, X_poff"},
			{Name: "port_insurance_bytes", Doc: "what they hold of the insurance"},
			{Name: "port_reserved_bytes", Doc: "size of the insurance"},
			{Name: "queue_off", Type: Bool, Doc: "the queue is OFF"},
			{Name: "port_off", Type: Bool, Doc: "the port is OFF, and with it all of its queues"},
		},
		Every: s.Every, At: Switches,
		Watch: func(p *Place) Watcher { return &dsh{Place: p, zeros: s.Zeros} },
	}, nil
}

// dsh samples the queues of ports that pause at two levels.
type dsh struct {
	Ignore
	*Place
	zeros bool
}

// Sample implements Watcher. Queues that hold nothing and are ON are left out.
func (w *dsh) Sample(now units.Time) {
	v := w.Node.View()
	w.chosen(func(port int) {
		shared, insurance, reserved := v.PortIn(port, mmu.Shared), v.PortIn(port, mmu.Headroom), w.Node.Headroom(port)
		classes(w.Node.LosslessClasses(port), func(c uint8) {
			l, ok := w.Node.Levels(now, port, c)
			in := v.Ingress(port, c)
			if !ok || in.Total() == 0 && !l.QueueOff && !l.PortOff && !w.zeros {
				return
			}
			w.Out.Add(now, int64(port), int64(c), int64(l.Estimate), int64(l.Tau), int64(in.Shared), int64(l.Queue), int64(in.Headroom),
				int64(shared), int64(l.Port), int64(insurance), int64(reserved), word(l.QueueOff), word(l.PortOff))
		})
	})
}
