package probe

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// PeakParams are the parameters of headroom_peaks.
type PeakParams struct {
	By string `yaml:"by" doc:"report maxima per queue or per port: queue | port"`
}

func newHeadroomPeaks(params any) (*Kind, error) {
	by := params.(*PeakParams).By
	if by != "queue" && by != "port" {
		return nil, fmt.Errorf("by cannot be %q (allowed: queue, port)", by)
	}
	perQueue := by == "queue"
	class := colClass
	class.Nullable, class.Doc = true, "traffic class; null with by: port"
	return &Kind{
		Columns: []Column{
			colPort, class,
			{Name: "reached_ps", Doc: "when the maximum was reached; time_ps is when the occupancy fell below it"},
			{Name: "bytes", Doc: "headroom occupancy at the maximum"},
			{Name: "episode", Doc: "number of the episode, from 1; an episode ends when the headroom is empty again"},
			{Name: "reserved_bytes", Doc: "headroom reserved for the port, or the queue's equal part of it; with a headroom pool, the size of the pool"},
			{Name: "off_port", Doc: "queues of the port that were OFF when the maximum was reached"},
			{Name: "off_switch", Doc: "queues of the node that were OFF at that time"},
			{Name: "queues_port", Doc: "lossless queues of the port"},
			{Name: "queues_switch", Doc: "lossless queues of the node"},
		},
		Events: true, At: Switches,
		Watch: func(p *Target) Watcher {
			n := len(p.Ports)
			if perQueue {
				n *= mmu.Classes
			}
			return &headroomPeaks{Target: p, perQueue: perQueue, peaks: make([]peak, n)}
		},
	}, nil
}

// headroomPeaks finds the local maxima of headroom occupancy: values reached by rising and
// left by falling. They show how much headroom was needed (DSH Fig. 6).
type headroomPeaks struct {
	Ignore
	*Target
	perQueue bool
	peaks    []peak
}

type peak struct {
	reached            units.Time
	bytes              units.Bytes
	episode            int64
	offPort, offSwitch int
	rising             bool
}

// Queued implements Sink.
func (w *headroomPeaks) Queued(now units.Time, in, _ int, p *packet.Packet, s mmu.Segment) {
	if s == mmu.Headroom && w.Ports[in] {
		w.update(now, in, p.Class())
	}
}

// Depart implements Sink.
func (w *headroomPeaks) Depart(now units.Time, _ int, p *packet.Packet) {
	if !p.Control() && w.Ports[p.Port()] {
		w.update(now, p.Port(), p.Class())
	}
}

// Drop implements Sink: a deadlock handler may drop stored frames.
func (w *headroomPeaks) Drop(now units.Time, port int, p *packet.Packet, why Reason) {
	if why == Handler && w.Ports[port] {
		w.update(now, port, p.Class())
	}
}

// update follows a change of headroom occupancy and writes a maximum that has passed.
func (w *headroomPeaks) update(now units.Time, port int, class uint8) {
	v := w.Node.View()
	at, stored := port, units.Bytes(0)
	if w.perQueue {
		at, stored = port*mmu.Classes+int(class), v.In(port, class, mmu.Headroom)
	} else {
		stored = v.IngressPort(port, 0xff).Headroom
	}
	k := &w.peaks[at]
	switch {
	case stored > k.bytes:
		all := 0
		for i := range w.Ports {
			all += w.Node.OffClasses(i).Count()
		}
		if k.bytes == 0 {
			k.episode++
		}
		*k = peak{reached: now, bytes: stored, episode: k.episode, offPort: w.Node.OffClasses(port).Count(), offSwitch: all, rising: true}
	case stored < k.bytes:
		if k.rising {
			w.write(now, port, class, k)
		}
		k.bytes, k.rising = stored, false
	}
}

func (w *headroomPeaks) write(now units.Time, port int, class uint8, k *peak) {
	reserved, c := w.Node.Headroom(port), int64(Null)
	queues := w.Node.LosslessClasses(port).Count()
	if w.perQueue {
		c = int64(class)
		if w.Node.View().PoolSize(port) == 0 {
			reserved /= units.Bytes(max(1, queues))
		}
	}
	all := 0
	for i := range w.Ports {
		all += w.Node.LosslessClasses(i).Count()
	}
	w.Out.Add(now, int64(port), c, int64(k.reached), int64(k.bytes), k.episode, int64(reserved), int64(k.offPort),
		int64(k.offSwitch), int64(queues), int64(all))
}

// Finish implements Watcher. It also reports occupancies that are still rising.
func (w *headroomPeaks) Finish(now units.Time) {
	for at := range w.peaks {
		if k := &w.peaks[at]; k.rising {
			port, class := at, uint8(0)
			if w.perQueue {
				port, class = at/mmu.Classes, uint8(at%mmu.Classes)
			}
			w.write(now, port, class, k)
		}
	}
}
