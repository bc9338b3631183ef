package probe

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// OffParams are the parameters of off_intervals.
type OffParams struct {
	Head units.Time `yaml:"head" doc:"also report the first part of each interval, this long, such as the time until a pause takes effect; 0s: do not"`
}

func newOffIntervals(params any) (*Kind, error) {
	head := params.(*OffParams).Head
	if head < 0 {
		return nil, fmt.Errorf("head cannot be %s (expected 0s or more)", head)
	}
	return &Kind{
		Columns: []Column{
			colPort, colClass,
			{Name: "start_ps", Doc: "when the queue turned OFF; time_ps is when it turned ON"},
			{Name: "closed", Type: Bool, Doc: "false: it was still OFF at the end of the run"},
			{Name: "arrived_bytes", Doc: "frames whose last bit arrived in the interval, without the one that began it"},
			{Name: "departed_bytes", Doc: "frames that left the queue in the interval, with the one that ended it"},
			{Name: "dropped_bytes", Doc: "frames of the queue that were dropped in the interval"},
			{Name: "arrival_bps", Nullable: true, Doc: "arrived_bytes over the interval"},
			{Name: "departure_bps", Nullable: true, Doc: "departed_bytes over the interval"},
			{Name: "start_bytes", Doc: "queue length when it turned OFF"},
			{Name: "end_bytes", Doc: "queue length when it turned ON"},
			{Name: "headroom_bytes", Doc: "highest headroom occupancy in the interval"},
			{Name: "head_arrival_bps", Nullable: true,
				Doc: "arrival_bps of the first part (see head); null for shorter intervals"},
			{Name: "head_departure_bps", Nullable: true, Doc: "departure_bps of that part"},
		},
		Events: true, At: Anywhere,
		Watch: func(p *Target) Watcher {
			return &offIntervals{Target: p, length: head, off: make([]packet.ClassMask, len(p.Ports)), open: make([]offInterval, mmu.Classes*len(p.Ports))}
		},
	}, nil
}

// offIntervals follows the OFF intervals of ingress queues. Departures are computed from
// the queue length. This includes the departure that turns the queue ON: the buffer has
// already released it when the change is reported.
type offIntervals struct {
	Ignore
	*Target
	length units.Time         // length of the first part
	off    []packet.ClassMask // by port
	open   []offInterval
}

type offInterval struct {
	start            units.Time
	length           units.Bytes // queue length at the start
	arrived, dropped units.Bytes
	headroom         units.Bytes
	head             struct{ arrived, departed units.Bytes } // first part
}

// Off implements Sink.
func (w *offIntervals) Off(now units.Time, port int, from, to packet.ClassMask) {
	if !w.Ports[port] {
		return
	}
	w.off[port] = to
	v := w.Node.View()
	for c := range (from ^ to).All() {
		in := v.Ingress(port, c)
		if to.Has(c) {
			w.open[port*mmu.Classes+int(c)] = offInterval{start: now, length: in.Total(), headroom: in.Headroom}
			continue
		}
		w.close(now, port, c, true)
	}
}

// Arrive implements Sink.
func (w *offIntervals) Arrive(now units.Time, port int, p *packet.Packet) {
	if w.off[port].Has(p.Class()) && !p.Control() {
		i, size := &w.open[port*mmu.Classes+int(p.Class())], w.Node.View().Cells(units.Bytes(p.Size))
		i.arrived += size
		if now-i.start <= w.length {
			i.head.arrived += size
		}
	}
}

// Depart implements Sink. An interval longer than its first part has seen all departures of
// that part here. Frames that a host sends do not leave an ingress queue.
func (w *offIntervals) Depart(now units.Time, _ int, p *packet.Packet) {
	in := p.Port()
	if w.Host || p.Control() || !w.off[in].Has(p.Class()) {
		return
	}
	if i := &w.open[in*mmu.Classes+int(p.Class())]; now-i.start <= w.length {
		i.head.departed += w.Node.View().Cells(units.Bytes(p.Size))
	}
}

// Drop implements Sink. Frames that the link corrupted have not arrived.
func (w *offIntervals) Drop(_ units.Time, port int, p *packet.Packet, why Reason) {
	if w.off[port].Has(p.Class()) && !p.Control() && why != Corrupt {
		w.open[port*mmu.Classes+int(p.Class())].dropped += w.Node.View().Cells(units.Bytes(p.Size))
	}
}

// Queued implements Sink.
func (w *offIntervals) Queued(_ units.Time, in, _ int, p *packet.Packet, s mmu.Segment) {
	if s == mmu.Headroom && w.off[in].Has(p.Class()) {
		i := &w.open[in*mmu.Classes+int(p.Class())]
		i.headroom = max(i.headroom, w.Node.View().In(in, p.Class(), mmu.Headroom))
	}
}

// Finish implements Watcher.
func (w *offIntervals) Finish(now units.Time) {
	w.chosen(func(port int) {
		for c := range w.off[port].All() {
			w.close(now, port, c, false)
		}
	})
}

func (w *offIntervals) close(now units.Time, port int, class uint8, closed bool) {
	i := &w.open[port*mmu.Classes+int(class)]
	in := w.Node.View().Ingress(port, class)
	end := in.Total() // queue length
	departed := i.length + i.arrived - i.dropped - end
	span := now - i.start
	headIn, headOut := int64(Null), int64(Null)
	if w.length > 0 && span > w.length {
		headIn, headOut = rateOf(i.head.arrived, w.length), rateOf(i.head.departed, w.length)
	}
	w.Out.Add(now, int64(port), int64(class), int64(i.start), word(closed), int64(i.arrived), int64(departed), int64(i.dropped),
		rateOf(i.arrived, span), rateOf(departed, span), int64(i.length), int64(end), int64(i.headroom), headIn, headOut)
}
