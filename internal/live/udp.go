package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// UDP are wires between processes, on this machine or others: a datagram is an Ethernet
// frame. Every port has a socket of its own, and takes datagrams of its peer's only.
//
// The rate of a wire is that at which its sender sends. Its delay is the receiver's business:
// it keeps a frame until its last bit would have come. On a loopback address both ends have
// the same clock, and a frame says when that is, so that the way through the kernel takes
// none of the time; elsewhere it is counted from when the datagram came.
type UDP struct {
	codec codec
	ports []*udpPort
	at    map[sim.End]*udpPort
	here  []bool
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

// udpPort is one end of a cable.
type udpPort struct {
	here, peer sim.End
	conn       *net.UDPConn
	addr       netip.AddrPort // of the peer
	loopback   bool
	port       portTimes
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
	port *udpPort
	end  int // of its bytes; it begins where the one before it ends
}

// Bounds of what waits between two polls, and of a datagram.
const (
	maxWaiting  = 16 << 20
	maxDatagram = 65507
)

// NewUDP opens the sockets of the nodes that are here; nil: all. A port without an address
// gets a free one of the loopback interface, which works if its peer is in this process,
// too. An address beyond the loopback interface is an error unless anywhere says so.
func NewUDP(spec *sim.Spec, where Addresses, here []bool, anywhere bool) (*UDP, error) {
	u := &UDP{
		codec: codec{flows: spec.Flows, hosts: spec.Hosts}, at: make(map[sim.End]*udpPort), here: here, ready: make(chan struct{}, 1),
	}
	for i := range spec.Cables {
		c := &spec.Cables[i]
		for _, d := range []struct {
			here, peer sim.End
			delay      units.Time
		}{{c.A, c.B, c.BtoA}, {c.B, c.A, c.AtoB}} {
			if here != nil && !here[d.here.Node] {
				continue
			}
			p := &udpPort{here: d.here, peer: d.peer, port: portTimes{c.Rate, c.Overhead, d.delay}}
			if err := p.open(where, anywhere); err != nil {
				_ = u.Close()
				return nil, err
			}
			u.ports, u.at[d.here] = append(u.ports, p), p
		}
	}
	for _, p := range u.ports {
		if err := u.findPeer(p, where, anywhere); err != nil {
			_ = u.Close()
			return nil, err
		}
	}
	return u, nil
}

// open binds the socket of a port.
func (p *udpPort) open(where Addresses, anywhere bool) error {
	at, ok := where[p.here]
	if !ok {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	if err := allowed(at, anywhere); err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return fmt.Errorf("cannot open a wire: %w", err)
	}
	_ = conn.SetReadBuffer(4 << 20) // as much of it as the system gives
	p.conn = conn
	return nil
}

func allowed(at netip.AddrPort, anywhere bool) error {
	if !anywhere && !at.Addr().IsLoopback() {
		return fmt.Errorf("%s is not on the loopback interface; allowed: 127.0.0.1 and the like, unless --anywhere says otherwise", at)
	}
	return nil
}

// findPeer notes where the peer of a port is.
func (u *UDP) findPeer(p *udpPort, where Addresses, anywhere bool) error {
	at, ok := where[p.peer]
	if q := u.at[p.peer]; !ok && q != nil {
		at, ok = q.conn.LocalAddr().(*net.UDPAddr).AddrPort(), true
	}
	if !ok {
		return fmt.Errorf("nobody knows the address of port %d of node %d", p.peer.Port, p.peer.Node)
	}
	p.addr = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	p.loopback = at.Addr().IsLoopback()
	return allowed(at, anywhere)
}

// Open implements Wires.
func (u *UDP) Open(ctx context.Context, to Arrivals) error {
	u.to = to
	for _, p := range u.ports {
		u.done.Add(1)
		go u.read(p)
	}
	return u.meet(ctx)
}

// read takes the datagrams of a port until its socket is closed.
func (u *UDP) read(p *udpPort) {
	defer u.done.Done()
	b := make([]byte, maxDatagram+1)
	for {
		n, from, err := p.conn.ReadFromUDPAddrPort(b)
		switch {
		case errors.Is(err, net.ErrClosed) || u.stop.Load():
			return
		case err != nil:
			continue // such as that a peer was not there yet
		}
		u.mu.Lock()
		switch {
		case from.Port() != p.addr.Port() || from.Addr().Unmap() != p.addr.Addr():
			u.strangers++
		case len(u.came.bytes)+n > maxWaiting:
			u.full++
		default:
			u.came.bytes = append(u.came.bytes, b[:n]...)
			u.came.list = append(u.came.list, datagram{p, len(u.came.bytes)})
			u.pending.Store(true)
		}
		u.mu.Unlock()
		select {
		case u.ready <- struct{}{}:
		default:
		}
	}
}

// Send implements Wires.
func (u *UDP) Send(from sim.End, p *packet.Packet, ext packet.Ext, _ units.Time) {
	port, due, ok := u.at[from], uint64(0), false
	if port.loopback {
		due = uint64(time.Now().UnixNano()) + uint64(port.sends(p)/units.Nanosecond)
	}
	if u.buf, ok = u.codec.encode(u.buf[:0], port.here, port.peer, p, ext, due); !ok || len(u.buf) > maxDatagram {
		u.count("of no flow, or longer than a datagram")
		return
	}
	// A datagram that is not taken is lost, as on a wire that nobody listens to.
	if _, err := port.conn.WriteToUDPAddrPort(u.buf, port.addr); err != nil {
		u.count("not sent: " + err.Error())
	}
}

// sends is the time from the first bit of a frame to its last, both here. The delay is added
// by the receiver, whose switch may have a pipeline.
func (p *udpPort) sends(f *packet.Packet) units.Time {
	return p.port.rate.TxTime(units.Bytes(f.Size) + p.port.overhead)
}

// Poll implements Wires.
func (u *UDP) Poll(now units.Time) {
	if !u.pending.Load() {
		return
	}
	u.swap()
	wall, start := time.Now().UnixNano(), 0
	for _, d := range u.taking.list {
		b := u.taking.bytes[start:d.end]
		start = d.end
		if err := u.take(d.port, b, now, wall); err != nil {
			u.count(err.Error())
		}
	}
}

// swap takes over what has come.
func (u *UDP) swap() {
	u.taking.bytes, u.taking.list = u.taking.bytes[:0], u.taking.list[:0]
	u.mu.Lock()
	u.came, u.taking = u.taking, u.came
	u.pending.Store(false)
	u.mu.Unlock()
}

// take hands a frame over that came by a port.
func (u *UDP) take(p *udpPort, b []byte, now units.Time, wall int64) error {
	if err := u.codec.decode(b, p.peer, p.here); err != nil {
		return err
	}
	f := &u.codec.f
	if f.Hello {
		u.answer(f.Ext)
		return nil
	}
	due := now + p.port.takes(&f.Packet)
	if p.loopback && f.Due != 0 {
		// When its last bit left, by the clock of both; never later than if it came now.
		left := int64(f.Due) - wall
		if left > -int64(time.Second) && left < int64(time.Second) {
			due = min(due, now+units.Time(left)*units.Nanosecond+p.port.delay)
		}
	}
	u.to.Deliver(p.here, &f.Packet, f.Ext, due)
	if f.Packet.Kind() == packet.PFC {
		f.More(func(more *packet.Packet) {
			more.Size = f.Packet.Size
			u.to.Deliver(p.here, more, nil, due)
		})
	}
	return nil
}

// Close implements Wires.
func (u *UDP) Close() error {
	u.stop.Store(true)
	var err error
	for _, p := range u.ports {
		if p.conn != nil {
			err = errors.Join(err, p.conn.Close())
		}
	}
	u.done.Wait()
	return err
}

// Strange returns how many frames were not taken, by reason.
func (u *UDP) Strange() map[string]uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[string]uint64)
	for why, n := range u.strange {
		all[why] = n
	}
	if u.strangers > 0 {
		all["live: from the address of a stranger"] = u.strangers
	}
	if u.full > 0 {
		all["live: more than could be taken"] = u.full
	}
	return all
}

// Addr returns where a port is, for whoever wants to know.
func (u *UDP) Addr(e sim.End) netip.AddrPort {
	return u.at[e].conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

// helloEvery is how often nodes that look for each other say so.
const helloEvery = 20 * time.Millisecond

// meet waits until all nodes of the run are there. Each process tells its neighbours which
// nodes it has heard of, its own first, and tells more as soon as it hears more: the last
// one to come is known everywhere as fast as frames travel, and the run starts.
func (u *UDP) meet(ctx context.Context) error {
	if u.here == nil {
		return nil
	}
	if len(u.here) > 64*frame.MaxHello {
		return fmt.Errorf("%d nodes; allowed in several processes: up to %d", len(u.here), 64*frame.MaxHello)
	}
	u.known = make([]uint64, (len(u.here)+63)/64)
	for i, here := range u.here {
		if here {
			u.known[i/64] |= 1 << (i % 64)
		}
	}
	tick := time.NewTicker(helloEvery)
	defer tick.Stop()
	u.hello()
	for !u.complete() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			u.hello()
		case <-u.ready:
			if u.hear() {
				u.hello()
			}
		}
	}
	return nil
}

// hear learns from what has come, and reports whether there was news. Frames of those who
// have started already are lost: they will be sent again.
func (u *UDP) hear() bool {
	u.swap()
	start, news := 0, false
	for _, d := range u.taking.list {
		b := u.taking.bytes[start:d.end]
		start = d.end
		if err := u.codec.decode(b, d.port.peer, d.port.here); err == nil && u.codec.f.Hello {
			news = u.learn(u.codec.f.Ext) || news
		}
	}
	return news
}

// learn adds what a neighbour knows and reports whether that was news.
func (u *UDP) learn(words []uint64) bool {
	news := false
	for i := range min(len(words), len(u.known)) {
		news = news || words[i]&^u.known[i] != 0
		u.known[i] |= words[i]
	}
	return news
}

func (u *UDP) complete() bool {
	for i := range u.here {
		if u.known[i/64]>>(i%64)&1 == 0 {
			return false
		}
	}
	return true
}

// answer tells a neighbour who still looks for others that all are there.
func (u *UDP) answer(words []uint64) {
	for i := range min(len(words), len(u.known)) {
		if u.known[i]&^words[i] != 0 {
			u.hello()
			return
		}
	}
}

// hello tells all neighbours which nodes are known.
func (u *UDP) hello() {
	for _, p := range u.ports {
		u.buf = frame.AppendHello(u.buf[:0], macOf(p.here), u.known)
		_, _ = p.conn.WriteToUDPAddrPort(u.buf, p.addr) // it is said again
	}
}
