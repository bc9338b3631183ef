package engine

import (
	"context"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// Frames are wires in memory by which every packet goes as the bytes of a real frame.
type Frames struct {
	codec codec
	peers map[sim.End]sim.End
	to    Arrivals
	buf   []byte
	strange
}

// NewFrames makes the wires of a run.
func NewFrames(spec *sim.Spec) *Frames {
	return &Frames{codec: codec{flows: spec.Flows, hosts: spec.Hosts}, peers: peersOf(spec)}
}

// peersOf returns where each port leads to.
func peersOf(spec *sim.Spec) map[sim.End]sim.End {
	peers := make(map[sim.End]sim.End)
	for i := range spec.Cables {
		c := &spec.Cables[i]
		peers[c.A], peers[c.B] = c.B, c.A
	}
	return peers
}

// Open implements Wires.
func (w *Frames) Open(_ context.Context, to Arrivals) error {
	w.to = to
	return nil
}

// Send implements Wires.
func (w *Frames) Send(from sim.End, p *packet.Packet, ext packet.Ext, due units.Time) {
	to, ok := w.peers[from], false
	if w.buf, ok = w.codec.encode(w.buf[:0], from, to, p, ext, 0); !ok {
		w.count("of no flow")
		return
	}
	if err := w.codec.decode(w.buf, from, to); err != nil {
		w.count(err.Error())
		return
	}
	w.to.Deliver(to, &w.codec.f.Packet, w.codec.f.Ext, due)
}

// Poll implements Wires.
func (w *Frames) Poll(units.Time) {}

// Close implements Wires.
func (w *Frames) Close() error { return nil }

// strange counts frames that are not taken, by reason.
type strange map[string]uint64

func (s *strange) count(why string) { s.add(why, 1) }

func (s *strange) add(why string, n uint64) {
	if *s == nil {
		*s = make(strange)
	}
	(*s)[why] += n
}

// Strange returns how many frames were not taken, by reason.
func (s *strange) Strange() map[string]uint64 { return *s }
