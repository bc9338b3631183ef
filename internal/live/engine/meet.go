package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/xoff-net/xoff/base/frame"
)

// helloEvery is how often nodes that look for each other say so, and lookEvery how often they
// look at their rings: nobody tells them that a frame has come there.
const (
	helloEvery = 20 * time.Millisecond
	lookEvery  = time.Millisecond
)

// meet waits until all nodes of the run are there. Each process tells its neighbours which
// nodes it has heard of, its own first, and tells more as soon as it hears more: the last
// one to come is known everywhere as fast as frames travel, and the run starts.
func (s *Sockets) meet(ctx context.Context) error {
	if s.here == nil {
		return nil
	}
	if len(s.here) > 64*frame.MaxHello {
		return fmt.Errorf("%d nodes; allowed in several processes: up to %d", len(s.here), 64*frame.MaxHello)
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
	s.hello()
	for !s.complete() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			s.hello()
			continue
		case <-s.ready:
		case <-look.C:
		}
		if s.hear() {
			s.hello()
		}
	}
	return nil
}

// hear learns from what has come, and reports whether there was news. Frames of those who
// have started already are lost: they will be sent again.
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
			p.ring.Poll(func(b []byte, _ int64, _ bool) { listen(p, b) })
		}
	}
	return news
}

// learn adds what a neighbour knows and reports whether that was news.
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

// answer tells a neighbour who still looks for others that all are there.
func (s *Sockets) answer(words []uint64) {
	for i := range min(len(words), len(s.known)) {
		if s.known[i]&^words[i] != 0 {
			s.hello()
			return
		}
	}
}

// hello tells all neighbours which nodes are known.
func (s *Sockets) hello() {
	for _, p := range s.ports {
		s.buf = frame.AppendHello(s.buf[:0], macOf(p.here), s.known)
		_ = p.Send(s.buf) // it is said again
	}
}
