package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/xoff-net/xoff/sim"
)

// udpSocket is one end of a cable that carries frames in datagrams. It accepts only datagrams from
// its peer.
type udpSocket struct {
	conn *net.UDPConn
	addr netip.AddrPort // of the peer
}

// NewUDP opens the sockets of the nodes of this process; a nil here means all nodes. A port
// without an address gets a free one on the loopback interface, which works only if its peer
// is in this process. Addresses beyond the loopback interface need anywhere.
func NewUDP(spec *sim.Spec, where Addresses, here, away []bool, anywhere bool) (*Sockets, error) {
	s := newSockets(spec, here, away)
	err := s.each(spec, func(p *socketPort) error {
		u, err := openUDP(where, p.here, anywhere)
		if err != nil {
			return err
		}
		p.socket = u
		s.add(p)
		return nil
	})
	for _, p := range s.ports {
		if err == nil {
			err = s.findPeer(p, where, anywhere)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openUDP binds the socket of a port.
func openUDP(where Addresses, e sim.End, anywhere bool) (*udpSocket, error) {
	at, ok := where[e]
	if !ok {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	if err := checkAddress(at, anywhere); err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("cannot open a wire: %w", err)
	}
	_ = conn.SetReadBuffer(4 << 20) // the system may grant less
	return &udpSocket{conn: conn}, nil
}

func checkAddress(at netip.AddrPort, anywhere bool) error {
	if !anywhere && !at.Addr().IsLoopback() {
		return fmt.Errorf("%s is not on the loopback interface (expected an address such as 127.0.0.1, or --anywhere)", at)
	}
	return nil
}

// findPeer sets the address of a port's peer.
func (s *Sockets) findPeer(p *socketPort, where Addresses, anywhere bool) error {
	at, ok := where[p.peer]
	if q := *s.at.of(p.peer); !ok && q != nil {
		at, ok = s.Addr(p.peer), true
	}
	if !ok {
		return fmt.Errorf("no address for port %d of node %d", p.peer.Port, p.peer.Node)
	}
	p.socket.(*udpSocket).addr = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	p.sameClock = at.Addr().IsLoopback()
	return checkAddress(at, anywhere)
}

// read receives the datagrams of a port until its socket is closed.
func (u *udpSocket) read(s *Sockets, p *socketPort) {
	defer s.done.Done()
	b := make([]byte, maxDatagram+1)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(b)
		switch {
		case errors.Is(err, net.ErrClosed) || s.stop.Load():
			return
		case err != nil:
			continue // such as a peer that has not started yet
		}
		s.enqueue(p, b[:n], from.Port() != u.addr.Port() || from.Addr().Unmap() != u.addr.Addr())
	}
}

// Send sends frames as datagrams.
func (u *udpSocket) Send(frames [][]byte) (sent int, err error) {
	for i, b := range frames {
		if _, err := u.conn.WriteToUDPAddrPort(b, u.addr); err != nil {
			return i, err
		}
	}
	return len(frames), nil
}

// Close closes the socket.
func (u *udpSocket) Close() error { return u.conn.Close() }

// Addr returns the address of a port with UDP.
func (s *Sockets) Addr(e sim.End) netip.AddrPort {
	return (*s.at.of(e)).socket.(*udpSocket).conn.LocalAddr().(*net.UDPAddr).AddrPort()
}
