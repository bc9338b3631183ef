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

// Sockets are wires through the system, to nodes of this process or of others: UDP, or
// packet sockets on interfaces. Every end of a cable has a socket of its own; a cable
// whose ends have none is in the memory of this process.
//
// The rate of a wire is that at which its sender sends. Its delay is the receiver's business:
// it keeps a frame until its last bit would have come. By UDP on a loopback address both ends
// have the same clock, and a frame says when that is, so that the way through the kernel takes
// none of the time; elsewhere it is counted from when the kernel got the frame.
type Sockets struct {
	codec codec
	ports []*socketPort
	at    map[sim.End]*socketPort
	peers map[sim.End]sim.End
	here  []bool // nil: all
	away  []bool // hosts that are none of ours; nil: none
	to    Arrivals
	buf   []byte
	ready chan struct{} // something has come
	stop  atomic.Bool
	done  sync.WaitGroup

	mu        sync.Mutex
	came      inflow
	strangers uint64 // datagrams of strangers
	full      uint64 // datagrams that nobody had room for
	pending   atomic.Bool

	taking inflow // what Poll is working on
	known  []uint64
	strange
}

// socket is what one end of a cable sends by. How frames come is its own business: those
// of UDP are brought by a goroutine (udpSocket.read), those of a Ring are fetched.
type socket interface {
	Send(b []byte) error
	Close() error
}

// socketPort is one end of a cable.
type socketPort struct {
	here, peer sim.End
	socket
	ring      *Ring // nil: UDP
	sameClock bool  // frames say when they are due
	port      portTimes
}

// portTimes is how long a frame takes to arrive.
type portTimes struct {
	rate     units.Rate
	overhead units.Bytes
	delay    units.Time
}

// takes is the time from the first bit of a frame at the sender to its last bit here.
func (t *portTimes) takes(p *packet.Packet) units.Time {
	return t.rate.TxTime(units.Bytes(p.Size)+t.overhead) + t.delay
}

// inflow is datagrams that came, in order.
type inflow struct {
	bytes []byte
	list  []datagram
}

type datagram struct {
	port *socketPort
	end  int // of its bytes; it begins where the one before it ends
}

// Bounds of what waits between two polls, and of a frame.
const (
	maxWaiting  = 16 << 20
	maxDatagram = 65507
)

// newSockets makes the wires of a run, without a socket.
func newSockets(spec *sim.Spec, here, away []bool) *Sockets {
	return &Sockets{
		codec: codec{flows: spec.Flows, hosts: spec.Hosts}, at: make(map[sim.End]*socketPort), peers: peersOf(spec), here: here, away: away,
		ready: make(chan struct{}, 1),
	}
}

// each calls a function for every end of a cable that is here and leads to a node of ours,
// until that fails.
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

func (s *Sockets) add(p *socketPort) { s.ports, s.at[p.here] = append(s.ports, p), p }

// NewPacket makes wires of the rings of ports. A cable without a ring leads through the
// memory of this process, which both its ends must be in.
func NewPacket(spec *sim.Spec, rings map[sim.End]*Ring, here, away []bool) (*Sockets, error) {
	s := newSockets(spec, here, away)
	return s, s.each(spec, func(p *socketPort) error {
		if ring := rings[p.here]; ring != nil {
			p.socket, p.ring = ring, ring
			s.add(p)
			return nil
		}
		if rings[p.peer] != nil || here != nil && !here[p.peer.Node] {
			return fmt.Errorf("port %d of node %d has no interface, but its peer is behind one", p.here.Port, p.here.Node)
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

// bring takes a frame that came by a port, or counts why not; of any goroutine.
func (s *Sockets) bring(p *socketPort, b []byte, stranger bool) {
	s.mu.Lock()
	switch {
	case stranger:
		s.strangers++
	case len(s.came.bytes)+len(b) > maxWaiting:
		s.full++
	default:
		s.came.bytes = append(s.came.bytes, b...)
		s.came.list = append(s.came.list, datagram{p, len(s.came.bytes)})
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
	port, due, ok := s.at[from], uint64(0), false
	if port == nil {
		s.to.Deliver(s.peers[from], p, ext, at)
		return
	}
	if port.sameClock {
		due = uint64(time.Now().UnixNano()) + uint64(port.sends(p)/units.Nanosecond)
	}
	if s.buf, ok = s.codec.encode(s.buf[:0], port.here, port.peer, p, ext, due); !ok || len(s.buf) > maxDatagram {
		s.count("of no flow, or longer than a datagram")
		return
	}
	// A frame that is not taken is lost, as on a wire that nobody listens to.
	if err := port.Send(s.buf); err != nil {
		s.count("not sent: " + err.Error())
	}
}

// sends is the time from the first bit of a frame to its last, both here. The delay is added
// by the receiver, whose switch may have a pipeline.
func (p *socketPort) sends(f *packet.Packet) units.Time {
	return p.port.rate.TxTime(units.Bytes(f.Size) + p.port.overhead)
}

// Poll implements Wires.
func (s *Sockets) Poll(now units.Time) {
	wall := int64(0)
	if s.pending.Load() {
		s.swap()
		wall = time.Now().UnixNano()
		start := 0
		for _, d := range s.taking.list {
			b := s.taking.bytes[start:d.end]
			start = d.end
			s.note(s.take(d.port, b, now, wall, wall))
		}
	}
	for _, p := range s.ports {
		if p.ring == nil || !p.ring.ready() {
			continue
		}
		if wall == 0 {
			wall = time.Now().UnixNano()
		}
		p.ring.Poll(func(b []byte, came int64, _ bool) { s.note(s.take(p, b, now, wall, came)) })
	}
}

// note counts a frame that was not taken.
func (s *Sockets) note(err error) {
	if err != nil {
		s.count(err.Error())
	}
}

// swap takes over what has come.
func (s *Sockets) swap() {
	s.taking.bytes, s.taking.list = s.taking.bytes[:0], s.taking.list[:0]
	s.mu.Lock()
	s.came, s.taking = s.taking, s.came
	s.pending.Store(false)
	s.mu.Unlock()
}

// maxAgo bounds how long ago a frame can have come, in nanoseconds: the clock of the wall
// can be set.
const maxAgo = int64(time.Second)

// take hands a frame over that came by a port at a time of the wall; now is the time of the
// run at wall.
func (s *Sockets) take(p *socketPort, b []byte, now units.Time, wall, came int64) error {
	if err := s.codec.decode(b, p.peer, p.here); err != nil {
		return err
	}
	f := &s.codec.f
	if f.Hello {
		s.answer(f.Ext)
		return nil
	}
	due := now + p.port.takes(&f.Packet)
	if ago := wall - came; ago > 0 && ago < maxAgo {
		due -= units.Time(ago) * units.Nanosecond
	}
	if p.sameClock && f.Due != 0 {
		// When its last bit left, by the clock of both; never later than if it came now.
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

// Strange returns how many frames were not taken, by reason.
func (s *Sockets) Strange() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]uint64)
	for why, n := range s.strange {
		all[why] = n
	}
	if s.strangers > 0 {
		all["live: from the address of a stranger"] = s.strangers
	}
	lost := s.full
	for _, p := range s.ports {
		if p.ring != nil {
			lost += p.ring.Lost()
		}
	}
	if lost > 0 {
		all["live: more than could be taken"] = lost
	}
	return all
}
