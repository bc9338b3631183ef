package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/units"
)

// helloEvery is the interval of hello frames, and lookEvery the interval at which rings, which do
// not signal received frames, are polled.
const (
	helloEvery = 20 * time.Millisecond
	lookEvery  = time.Millisecond
)

// During the run, hello frames show that a process is alive: it sends one every repeatEvery, and
// has vanished if it is silent for longer than silentFor.
const (
	repeatEvery = 50 * units.Millisecond
	silentFor   = units.Second
)

// meet waits until all nodes of the run are reachable. Each process sends its neighbours the set
// of nodes that it knows, at first its own, and again whenever the set grows.
func (s *Sockets) meet(ctx context.Context) error {
	if s.here == nil {
		return nil
	}
	if len(s.here) > 64*frame.MaxHello {
		return fmt.Errorf("the scenario has %d nodes (expected at most %d in several processes)", len(s.here), 64*frame.MaxHello)
	}
	s.known = make([]uint64, (len(s.here)+63)/64)
	for i, here := range s.here {
		if here || s.away != nil && s.away[i] {
			s.known[i/64] |= 1 << (i % 64)
		}
	}
	tick, look := time.NewTicker(helloEvery), time.NewTicker(lookEvery)
	defer tick.Stop()
	defer look.Stop()
	s.hello(s.known)
	for !s.complete() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			s.hello(s.known)
			continue
		case <-s.ready:
		case <-look.C:
		}
		if s.hear() {
			s.hello(s.known)
		}
	}
	for _, p := range s.ports {
		p.out.unsent = nil // before the peer was there
	}
	return nil
}

// hear processes received hello frames and reports whether they had new nodes. It drops frames
// of processes that have already started; they are retransmitted.
func (s *Sockets) hear() bool {
	s.swap()
	start, news := 0, false
	listen := func(p *socketPort, b []byte) {
		if err := s.codec.decode(b, p.peer, p.here); err == nil && s.codec.f.Hello {
			news = s.learn(s.codec.f.Ext) || news
		}
	}
	for _, d := range s.taking.list {
		listen(d.port, s.taking.bytes[start:d.end])
		start = d.end
	}
	for _, p := range s.ports {
		if p.ring != nil {
			p.ring.Poll(maxBatch, func(b []byte, _ int64, _ bool) { listen(p, b) })
		}
	}
	return news
}

// learn adds the nodes that a neighbour knows and reports whether any was new.
func (s *Sockets) learn(words []uint64) bool {
	news := false
	for i := range min(len(words), len(s.known)) {
		news = news || words[i]&^s.known[i] != 0
		s.known[i] |= words[i]
	}
	return news
}

func (s *Sockets) complete() bool {
	for i := range s.here {
		if s.known[i/64]>>(i%64)&1 == 0 {
			return false
		}
	}
	return true
}

// answer sends the known nodes if a neighbour knows fewer.
func (s *Sockets) answer(words []uint64) {
	for i := range min(len(words), len(s.known)) {
		if s.known[i]&^words[i] != 0 {
			s.hello(s.known)
			return
		}
	}
}

// hello sends known nodes to all neighbours in other processes.
func (s *Sockets) hello(known []uint64) {
	for _, p := range s.ports {
		if !s.here[p.peer.Node] {
			s.send(p, frame.AppendHello(p.out.next(), macOf(p.here), known))
		}
	}
	s.Flush()
}

// leave tells the neighbours that this process has ended its run as planned: a hello without
// nodes.
func (s *Sockets) leave() {
	if s.known != nil {
		s.hello(nil)
	}
}

// silent calls do for every port whose peer in another process has vanished.
func (s *Sockets) silent(now units.Time, do func(p *socketPort)) {
	for _, p := range s.ports {
		if s.known != nil && !s.here[p.peer.Node] && !p.left && now-p.heard > silentFor {
			do(p)
		}
	}
}
