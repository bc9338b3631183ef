package engine

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// Tests with hostile peers: no frame may cause a panic.

// under is a run under attack: it accepts frames of a hostile peer at every port, and its own
// frames on wires in memory.
type under struct {
	b     *fabric.Fabric
	e     *Engine
	u     *Sockets
	clock *Manual
	ports []*socketPort
	at    units.Time
}

func newUnder(t testing.TB, text string, set ...string) *under {
	t.Helper()
	cfg, err := scenario.Parse("live.yaml", []byte(text), set...)
	if err != nil {
		t.Fatal(err)
	}
	x := &under{clock: &Manual{}}
	if x.b, err = fabric.New(cfg, fabric.Options{}); err != nil {
		t.Fatal(err)
	}
	frames := NewFrames(x.b.Spec)
	if x.e, err = New(x.b.Spec, Options{Clock: x.clock, Wires: frames}); err != nil {
		t.Fatal(err)
	}
	if err := frames.Open(context.Background(), x.e); err != nil {
		t.Fatal(err)
	}
	x.u = &Sockets{codec: codec{flows: x.b.Flows, hosts: x.b.Spec.Hosts}, to: x.e}
	for _, c := range x.b.Spec.Cables {
		for _, d := range [][2]sim.End{{c.A, c.B}, {c.B, c.A}} {
			x.ports = append(x.ports, &socketPort{here: d[0], peer: d[1], sameClock: true, port: portTimes{rate: c.Rate, delay: c.AtoB}})
		}
	}
	for _, n := range x.e.nodes {
		n.data.Start(0)
	}
	return x
}

// run continues the run for a duration.
func (x *under) run(d units.Time) {
	x.at += d
	x.e.runTo(x.at)
}

func (x *under) take(port *socketPort, b []byte) error {
	x.u.now = x.e.now
	return x.u.receive(port, b, 0)
}

// hostile returns a random packet of a hostile peer.
func hostile(r *rand.Rand, flows int) (packet.Packet, packet.Ext) {
	p := packet.Packet{
		Flow: uint32(r.IntN(flows + 1)), Seq: uint32(r.IntN(600)), Hash: r.Uint32(), Size: uint16(64 + r.IntN(1500)),
		Meta: packet.MakeMeta(packet.Kind(r.IntN(int(packet.Loop)+1)), uint8(r.IntN(8))), Flags: packet.Flags(r.Uint32()),
	}
	var ext packet.Ext
	for range r.IntN(12) {
		w := r.Uint64() >> r.IntN(64)
		if r.IntN(3) == 0 {
			w = uint64(r.IntN(9))<<56 | uint64(r.IntN(4))<<40 | uint64(r.IntN(3))<<32 | uint64(r.Uint32()) // resembles ra_hdr, or a selective ACK
		}
		ext = append(ext, w)
	}
	if p.Kind() == packet.PFC {
		p.SetPFC(packet.ClassMask(r.Uint32()), packet.ClassMask(r.Uint32()), uint16(r.Uint32()))
	}
	if len(ext) > 0 {
		p.Flags |= packet.Extended
	} else {
		p.Flags &^= packet.Extended
	}
	return p, ext
}

// makePlausible sets the fields that decoding checks, most of the time, so that some packets are
// accepted.
func (x *under) makePlausible(r *rand.Rand, p *packet.Packet) {
	if !p.OfFlow() || int(p.Flow) >= len(x.b.Flows.Flow) || r.IntN(8) == 0 {
		return
	}
	var m frame.Message
	f := &x.b.Flows.Flow[p.Flow]
	transport := &x.b.Spec.Hosts[f.Src].Transports[f.Transport]
	m.Payload, m.Header = transport.Payload, transport.Header
	p.Hash, p.Size = x.e.net.Spec.Flows.Flow[p.Flow].Hash, uint16(transport.AckSize)
	if p.Kind() == packet.Data {
		p.Seq %= uint32((f.Size + m.Payload - 1) / m.Payload)
		p.Size = uint16(min(m.Payload, f.Size-units.Bytes(p.Seq)*m.Payload) + m.Header)
	} else {
		p.Hash = dataplane.ReplyHash(p.Hash)
	}
}

// attack sends hostile packets to random ports during the run and returns how many were accepted.
func (x *under) attack(t *testing.T, seed uint64) (taken int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	var c codec
	c.flows, c.hosts = x.b.Flows, x.b.Spec.Hosts
	var bytes []byte
	for range 4000 {
		p, ext := hostile(r, len(x.b.Flows.Flow))
		x.makePlausible(r, &p)
		port := x.ports[r.IntN(len(x.ports))]
		ok := false
		if bytes, ok = c.encode(bytes[:0], port.peer, port.here, &p, ext, uint64(r.IntN(1000))); ok && x.take(port, bytes) == nil {
			taken++
		}
		x.run(units.Time(r.IntN(20)) * units.Microsecond)
	}
	x.run(100 * units.Millisecond)
	return taken
}

// TestHostilePeer attacks every flow control, deadlock handler, recovery and congestion control.
func TestHostilePeer(t *testing.T) {
	for i, s := range everyScheme() {
		t.Run(s.name, func(t *testing.T) {
			x := newUnder(t, schemes, s.set...)
			if n := x.attack(t, uint64(i)); n < 500 {
				t.Errorf("only %d frames were accepted (expected at least 500)", n)
			}
		})
	}
}

// FuzzReceive receives arbitrary bytes from a peer; which selects the port. The seed corpus is
// frames that a run sent.
func FuzzReceive(f *testing.F) {
	for _, s := range everyScheme() {
		cfg, err := scenario.Parse("live.yaml", []byte(schemes), s.set...)
		if err != nil {
			f.Fatal(err)
		}
		b, err := fabric.New(cfg, fabric.Options{})
		if err != nil {
			f.Fatal(err)
		}
		spy := &spy{Frames: NewFrames(b.Spec), f: f, every: 997}
		e, err := New(b.Spec, Options{Clock: &Manual{}, Wires: spy})
		if err != nil {
			f.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		e.opts.Progress = func(now units.Time) {
			if now > 50*units.Millisecond {
				cancel()
			}
		}
		_, _ = e.Run(ctx)
	}
	// Each input has its own run, on a small fabric, so that failures are reproducible.
	small := []string{
		"topology={name: one-switch, hosts: 5, host_link: {rate: 100Mbps, delay: 10us}}",
		"hosts.reliability={name: irn, rto_low: 50ms}", "switch.deadlock={name: roundabout}",
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		x := newUnder(t, schemes, small...)
		x.run(units.Millisecond)
		_ = x.take(x.ports[int(which)%len(x.ports)], b)
		x.run(units.Millisecond)
	})
}

// spy adds some of the frames that it carries to the seed corpus.
type spy struct {
	*Frames
	f     *testing.F
	n     int
	every int
}

func (s *spy) Send(from sim.End, p *packet.Packet, ext packet.Ext, due units.Time) {
	s.Frames.Send(from, p, ext, due)
	if s.n++; s.n%s.every == 0 || s.n < 20 && p.Control() {
		s.f.Add(byte(from.Node), append([]byte(nil), s.buf...))
	}
}
