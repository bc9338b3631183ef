package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/xoff-net/xoff/sim"
)

// udpSocket is an end of a cable whose frames are datagrams. It takes those of its peer only.
type udpSocket struct {
	conn *net.UDPConn
	addr netip.AddrPort // of the peer
}

// NewUDP opens the sockets of the nodes that are here; nil: all. A port without an address
// gets a free one of the loopback interface, which works if its peer is in this process,
// too. An address beyond the loopback interface is an error unless anywhere says so.
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
	if err := allowed(at, anywhere); err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("cannot open a wire: %w", err)
	}
	_ = conn.SetReadBuffer(4 << 20) // as much of it as the system gives
	return &udpSocket{conn: conn}, nil
}

func allowed(at netip.AddrPort, anywhere bool) error {
	if !anywhere && !at.Addr().IsLoopback() {
		return fmt.Errorf("%s is not on the loopback interface; allowed: 127.0.0.1 and the like, unless --anywhere says otherwise", at)
	}
	return nil
}

// findPeer notes where the peer of a port is.
func (s *Sockets) findPeer(p *socketPort, where Addresses, anywhere bool) error {
	at, ok := where[p.peer]
	if q := s.at[p.peer]; !ok && q != nil {
		at, ok = s.Addr(p.peer), true
	}
	if !ok {
		return fmt.Errorf("nobody knows the address of port %d of node %d", p.peer.Port, p.peer.Node)
	}
	p.socket.(*udpSocket).addr = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	p.sameClock = at.Addr().IsLoopback()
	return allowed(at, anywhere)
}

// read takes the datagrams of a port until its socket is closed.
func (u *udpSocket) read(s *Sockets, p *socketPort) {
	defer s.done.Done()
	b := make([]byte, maxDatagram+1)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(b)
		switch {
		case errors.Is(err, net.ErrClosed) || s.stop.Load():
			return
		case err != nil:
			continue // such as that a peer was not there yet
		}
		s.bring(p, b[:n], from.Port() != u.addr.Port() || from.Addr().Unmap() != u.addr.Addr())
	}
}

// Send sends a frame as a datagram.
func (u *udpSocket) Send(b []byte) error {
	_, err := u.conn.WriteToUDPAddrPort(b, u.addr)
	return err
}

// Close closes the socket.
func (u *udpSocket) Close() error { return u.conn.Close() }

// Addr returns where a port with UDP is, for whoever wants to know.
func (s *Sockets) Addr(e sim.End) netip.AddrPort {
	return s.at[e].socket.(*udpSocket).conn.LocalAddr().(*net.UDPAddr).AddrPort()
}
