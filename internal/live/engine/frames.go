package engine

import (
	"context"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// Frames are wires in memory that encode every packet as a real frame and decode it again.
type Frames struct {
	codec codec
	peers byEnd[sim.End]
	to    Arrivals
	buf   []byte
	rejected
}

// NewFrames returns the wires of a run.
func NewFrames(spec *sim.Spec) *Frames {
	return &Frames{codec: codec{flows: spec.Flows, hosts: spec.Hosts}, peers: peersOf(spec)}
}

// byEnd has a value for each port of a run.
type byEnd[T any] [][]T

func newByEnd[T any](spec *sim.Spec) byEnd[T] {
	all := make(byEnd[T], len(spec.Hosts)+len(spec.Switches))
	for i := range all {
		ports := 1
		if i >= len(spec.Hosts) {
			ports = len(spec.Switches[i-len(spec.Hosts)].Ports)
		}
		all[i] = make([]T, ports)
	}
	return all
}

// of returns the value of a port.
func (a byEnd[T]) of(e sim.End) *T { return &a[e.Node][e.Port] }

// peersOf returns the peer of each port.
func peersOf(spec *sim.Spec) byEnd[sim.End] {
	peers := newByEnd[sim.End](spec)
	for i := range spec.Cables {
		c := &spec.Cables[i]
		*peers.of(c.A), *peers.of(c.B) = c.B, c.A
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
	to, ok := *w.peers.of(from), false
	if w.buf, ok = w.codec.encode(w.buf[:0], from, to, p, ext, 0); !ok {
		w.count("live: belongs to no flow")
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

// Flush implements Wires.
func (w *Frames) Flush() bool { return false }

// Close implements Wires.
func (w *Frames) Close() error { return nil }

// rejected counts rejected frames by reason.
type rejected map[string]uint64

func (s *rejected) count(why string) { s.add(why, 1) }

func (s *rejected) add(why string, n uint64) {
	if *s == nil {
		*s = make(rejected)
	}
	(*s)[why] += n
}

// Rejected returns the number of rejected frames by reason.
func (s *rejected) Rejected() map[string]uint64 { return *s }
