package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// Sockets are wires that use the operating system, to nodes of this or of other processes: UDP,
// or packet sockets on interfaces. Every end of a cable has its own socket; a cable without
// sockets is in the memory of this process.
//
// The sender sends at the rate of the wire. The receiver adds the delay: it keeps a frame until
// its last bit would have arrived. On a UDP loopback address both ends have the same clock and
// a frame carries its time, so the latency of the kernel does not count. Elsewhere the delay
// starts when the kernel received the frame.
type Sockets struct {
	codec codec
	ports []*socketPort
	at    byEnd[*socketPort]
	peers byEnd[sim.End]
	here  []bool // nil: all
	away  []bool // real hosts; nil: none
	to    Arrivals
	ready chan struct{} // signals received frames
	stop  atomic.Bool
	done  sync.WaitGroup

	mu        sync.Mutex
	arrived   inflow
	strangers uint64 // datagrams from unknown addresses
	overflow  uint64 // datagrams dropped for lack of room
	pending   atomic.Bool

	taking inflow     // datagrams that Poll processes
	now    units.Time // time of the run at the wall clock time wall
	wall   int64
	came   units.Time    // last frame
	full   []*socketPort // ports with frames to send
	known  []uint64
	repeat units.Time // when the next hello is due
	rejected
}

// socket is the sending side of one end of a cable. A goroutine receives frames by UDP, see
// udpSocket.read; a Ring is polled.
type socket interface {
	sender
	Close() error
}

// socketPort is one end of a cable.
type socketPort struct {
	here, peer sim.End
	socket
	ring      *Ring // nil: UDP
	sameClock bool  // frames carry their due time
	port      portTimes
	out       outbox
	take      func(b []byte, came int64, unfilled bool) // receives a frame
	heard     units.Time                                // last valid frame
	left      bool                                      // the peer's process has ended its run
}

// portTimes determines how long a frame takes to arrive.
type portTimes struct {
	rate     units.Rate
	overhead units.Bytes
	delay    units.Time
}

// takes returns the time from the first bit of a frame at the sender to its last bit here.
func (t *portTimes) takes(p *packet.Packet) units.Time {
	return t.rate.TxTime(units.Bytes(p.Size)+t.overhead) + t.delay
}

// inflow is a list of received datagrams, in order.
type inflow struct {
	bytes []byte
	list  []datagram
}

type datagram struct {
	port *socketPort
	end  int // end of its bytes; they start at the end of the previous datagram
}

// Maximum bytes that wait between two polls, and maximum size of a frame.
const (
	maxWaiting  = 16 << 20
	maxDatagram = 65507
)

// newSockets returns the wires of a run, without sockets.
func newSockets(spec *sim.Spec, here, away []bool) *Sockets {
	return &Sockets{
		codec: codec{flows: spec.Flows, hosts: spec.Hosts}, at: newByEnd[*socketPort](spec), peers: peersOf(spec), here: here, away: away,
		ready: make(chan struct{}, 1),
	}
}

// each calls do for every end of a cable at a node of this process, unless one of its nodes is a
// real host. It stops at the first error.
func (s *Sockets) each(spec *sim.Spec, do func(p *socketPort) error) error {
	for i := range spec.Cables {
		c := &spec.Cables[i]
		for _, d := range []struct {
			here, peer sim.End
			delay      units.Time
		}{{c.A, c.B, c.BtoA}, {c.B, c.A, c.AtoB}} {
			if s.here != nil && !s.here[d.here.Node] || s.away != nil && (s.away[d.here.Node] || s.away[d.peer.Node]) {
				continue
			}
			if err := do(&socketPort{here: d.here, peer: d.peer, port: portTimes{c.Rate, c.Overhead, d.delay}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sockets) add(p *socketPort) {
	s.ports = append(s.ports, p)
	*s.at.of(p.here) = p
	p.take = func(b []byte, came int64, _ bool) {
		s.came = s.now
		s.note(s.receive(p, b, came))
	}
}

// NewPacket returns wires that use the rings of ports. A cable without rings is in the memory of
// this process, which must have both of its ends.
func NewPacket(spec *sim.Spec, rings map[sim.End]*Ring, here, away []bool) (*Sockets, error) {
	s := newSockets(spec, here, away)
	return s, s.each(spec, func(p *socketPort) error {
		if ring := rings[p.here]; ring != nil {
			p.socket, p.ring = ring, ring
			s.add(p)
			return nil
		}
		if rings[p.peer] != nil || here != nil && !here[p.peer.Node] {
			return fmt.Errorf("port %d of node %d has no interface, but its peer needs one", p.here.Port, p.here.Node)
		}
		return nil
	})
}

// Open implements Wires.
func (s *Sockets) Open(ctx context.Context, to Arrivals) error {
	s.to = to
	for _, p := range s.ports {
		if u, ok := p.socket.(*udpSocket); ok {
			s.done.Add(1)
			go u.read(s, p)
		}
	}
	return s.meet(ctx)
}

// enqueue queues a frame for Poll, or counts why it is rejected. Any goroutine may call it.
func (s *Sockets) enqueue(p *socketPort, b []byte, stranger bool) {
	s.mu.Lock()
	switch {
	case stranger:
		s.strangers++
	case len(s.arrived.bytes)+len(b) > maxWaiting:
		s.overflow++
	default:
		s.arrived.bytes = append(s.arrived.bytes, b...)
		s.arrived.list = append(s.arrived.list, datagram{p, len(s.arrived.bytes)})
		s.pending.Store(true)
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Send implements Wires.
func (s *Sockets) Send(from sim.End, p *packet.Packet, ext packet.Ext, at units.Time) {
	port, due := *s.at.of(from), uint64(0)
	if port == nil {
		s.to.Deliver(*s.peers.of(from), p, ext, at)
		return
	}
	if port.sameClock {
		due = uint64(time.Now().UnixNano()) + uint64(port.sends(p)/units.Nanosecond)
	}
	b, ok := s.codec.encode(port.out.next(), port.here, port.peer, p, ext, due)
	if !ok || len(b) > maxDatagram {
		s.count("live: belongs to no flow, or is longer than a datagram")
		return
	}
	s.send(port, b)
}

// send sends a frame in the buffer of a port's outbox with the next Flush.
func (s *Sockets) send(port *socketPort, b []byte) {
	if port.out.n == 0 {
		s.full = append(s.full, port)
	}
	if port.out.add(b) {
		s.Flush()
	}
}

// Flush implements Wires.
func (s *Sockets) Flush() bool {
	waited := len(s.full) > 0
	for _, p := range s.full {
		if p.left {
			p.out.n = 0 // nobody expects these frames
		}
		p.out.flush(p.socket)
	}
	s.full = s.full[:0]
	return waited
}

// sends returns the serialisation time of a frame. The receiver adds the delay, which includes
// the pipeline of its switch.
func (p *socketPort) sends(f *packet.Packet) units.Time {
	return p.port.rate.TxTime(units.Bytes(f.Size) + p.port.overhead)
}

// Poll implements Wires.
func (s *Sockets) Poll(now units.Time) {
	if s.known != nil && now >= s.repeat {
		s.repeat = now + repeatEvery
		s.hello(s.known)
	}
	s.now, s.wall = now, 0
	if s.pending.Load() {
		s.swap()
		s.wall = time.Now().UnixNano()
		start := 0
		for _, d := range s.taking.list {
			d.port.take(s.taking.bytes[start:d.end], s.wall, false)
			start = d.end
		}
	}
	for _, p := range s.ports {
		if p.ring == nil || !p.ring.ready() {
			continue
		}
		if s.wall == 0 {
			s.wall = time.Now().UnixNano()
		}
		p.ring.Poll(maxBatch, p.take)
	}
}

// note counts a rejected frame if err is not nil.
func (s *Sockets) note(err error) {
	if err != nil {
		s.count(err.Error())
	}
}

// swap moves the received datagrams to taking.
func (s *Sockets) swap() {
	s.taking.bytes, s.taking.list = s.taking.bytes[:0], s.taking.list[:0]
	s.mu.Lock()
	s.arrived, s.taking = s.taking, s.arrived
	s.pending.Store(false)
	s.mu.Unlock()
}

// maxAgo is the maximum credible age of a frame in nanoseconds; the wall clock may jump.
const maxAgo = int64(time.Second)

// receive decodes and delivers a frame that a port received at the wall clock time came.
func (s *Sockets) receive(p *socketPort, b []byte, came int64) error {
	now, wall := s.now, s.wall
	if err := s.codec.decode(b, p.peer, p.here); err != nil {
		return err
	}
	f := &s.codec.f
	p.heard, p.left = now, f.Hello && len(f.Ext) == 0
	if f.Hello {
		s.answer(f.Ext)
		return nil
	}
	due := now + p.port.takes(&f.Packet)
	if ago := wall - came; ago > 0 && ago < maxAgo {
		due -= units.Time(ago) * units.Nanosecond
	}
	if p.sameClock && f.Due != 0 {
		// Due is when its last bit left; the frame is never later than if it arrived now.
		if left := int64(f.Due) - wall; left > -maxAgo && left < maxAgo {
			due = min(due, now+units.Time(left)*units.Nanosecond+p.port.delay)
		}
	}
	s.to.Deliver(p.here, &f.Packet, f.Ext, due)
	if f.Packet.Kind() == packet.PFC {
		f.More(func(more *packet.Packet) {
			more.Size = f.Packet.Size
			s.to.Deliver(p.here, more, nil, due)
		})
	}
	return nil
}

// Close implements Wires.
func (s *Sockets) Close() error {
	s.stop.Store(true)
	var err error
	for _, p := range s.ports {
		if p.socket != nil {
			err = errors.Join(err, p.Close())
		}
	}
	s.done.Wait()
	return err
}

// Rejected returns the number of rejected frames by reason.
func (s *Sockets) Rejected() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]uint64)
	for why, n := range s.rejected {
		all[why] = n
	}
	if s.strangers > 0 {
		all["live: from an unknown address"] = s.strangers
	}
	lost := s.overflow
	for _, p := range s.ports {
		if p.ring != nil {
			lost += p.ring.Lost()
		}
	}
	if lost > 0 {
		all["live: receive buffer full"] = lost
	}
	return all
}
