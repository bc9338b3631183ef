package dataplane_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
)

func TestHandlerView(t *testing.T) {
	b := newPausedBench(t)
	s := b.h.s
	if s.ID() != 77 || s.Ports() != 4 || s.Rate(1) != 100*units.Gbps || s.Rand() == nil {
		t.Errorf("node %d, %d ports, rate %s", s.ID(), s.Ports(), s.Rate(1))
	}
	if s.GatedClasses(2) != 1<<class || s.Head(2, class).Seq != 1 || s.Head(1, class) != nil {
		t.Error("wrong masks or queue heads")
	}
	if p := s.View().Pair(0, 2, class); p.Bytes != 3000 || p.Packets != 3 {
		t.Errorf("pair %+v, want 3000 B in 3 packets", p)
	}
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq) // the ninth goes to headroom: 9 x 1000 > 8000
	}
	if s.PausedClasses(0) != 1<<class || !reflect.DeepEqual(b.h.paused, []packet.ClassMask{1 << class}) {
		t.Errorf("paused %08b, handler saw %v", s.PausedClasses(0), b.h.paused)
	}
	if want := []sentControl{{packet.PFC, 1 << class, 1 << class, 1}}; !reflect.DeepEqual(b.control[0], want) {
		t.Errorf("port 0 sent %+v, want %+v with one extension word", b.control[0], want)
	}
	b.pause(2, false)
	b.end()
	b.wantSent(2, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	if want := []packet.ClassMask{1 << class, 0}; !reflect.DeepEqual(b.h.blocked, want) {
		t.Errorf("blocked %v, want %v", b.h.blocked, want)
	}
}

func TestWakeAndSend(t *testing.T) {
	b := newBench(t)
	b.h.s.WakeAt(0, 5*units.Microsecond)
	f := packet.Packet{Size: 64, Meta: packet.MakeMeta(packet.Loop, 0)}
	b.h.s.Send(0, 3, &f, packet.Ext{1, 2, 3})
	b.data(0, 3, 1) // any event sends the frame, before the data
	b.run(10 * units.Microsecond)
	if want := []sentControl{{kind: packet.Loop, ext: 3}}; !reflect.DeepEqual(b.control[3], want) {
		t.Errorf("port 3 sent %+v, want %+v", b.control[3], want)
	}
	b.sw.Arrive(b.now, 3, &f, packet.Ext{1})
	if b.h.controls != 1 {
		t.Errorf("%d loop frames reached the handler, want 1", b.h.controls)
	}
	b.end()
	b.wantSent(3, 1)
}

// A budget of 2500 B covers two frames of 1000 B and not a third.
func TestForcedSendStaysWithinBudget(t *testing.T) {
	b := newPausedBench(t)
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, 2500)
	b.wait(10)
	b.wantSent(2) // nothing is sent during a handler's call; the next event sends it
	b.data(0, 1, 9)
	b.wait(10)
	b.wantSent(2, 1, 2)
	if n := b.sw.PortStats(2, b.now).Forced; n != 2 {
		t.Errorf("%d frames forced, want 2", n)
	}
	b.pause(2, false)
	if n := len(b.h.blocked); n != 2 || b.h.blocked[1] != 0 {
		t.Errorf("the handler did not see the RESUME of a forced class: %v", b.h.blocked)
	}
	b.end()
	b.wantSent(2, 1, 2, 3)
}

// A budget of 2050 B covers two frames of 1000 B. If the peer stores them in cells of 208 B, they
// take 1040 B each, and the budget covers one.
func TestBudgetCountsCellsOfThePeer(t *testing.T) {
	for cell, want := range map[units.Bytes]uint64{1: 2, 208: 1} {
		b := newPausedBench(t, func(s *dataplane.SwitchSpec) { s.Ports[2].PeerStore = &link.Store{Cell: cell} })
		b.h.s.SetGate(b.now, 2, class, deadlock.Open, 2050)
		b.data(0, 1, 9)
		b.wait(10)
		if n := b.sw.PortStats(2, b.now).Forced; n != want {
			t.Errorf("cells of %d B: %d frames forced, want %d", cell, n, want)
		}
	}
}

// After two frames of 1000 B, 500 of 2500 B are left, too little for the third. The peer blocks
// the queue again, and the deadlock search must see that.
func TestShortBudgetIsBlocked(t *testing.T) {
	b := newPausedBench(t)
	blocked := func() int { return len(b.sw.BlockedQueues(b.now, nil)) }
	if blocked() != 1 {
		t.Fatalf("%d queues are blocked by a pause, want 1", blocked())
	}
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, 2500)
	if blocked() != 0 {
		t.Errorf("%d queues are blocked with a budget, want none", blocked())
	}
	b.data(0, 1, 9)
	b.wait(10)
	if blocked() != 1 {
		t.Errorf("%d queues are blocked with 500 B left, want 1", blocked())
	}
	b.pause(2, false)
	b.end()
	b.wantSent(2, 1, 2, 3)
}

// An opened class does not pass frames straight through beyond its budget.
func TestForcedSendStraightThrough(t *testing.T) {
	b := newBench(t)
	b.pause(2, true)
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, 1000)
	b.data(0, 2, 1)
	b.wait(2)
	b.data(0, 2, 2)
	b.wait(2)
	b.wantSent(2, 1)
	if n := b.sw.PortStats(2, b.now).Forced; n != 1 {
		t.Errorf("%d frames forced, want 1", n)
	}
	b.pause(2, false)
	b.end()
	b.wantSent(2, 1, 2)
}

func TestShutAndObey(t *testing.T) {
	b := newBench(t)
	b.h.s.SetGate(b.now, 1, class, deadlock.Shut, 0)
	b.data(0, 1, 1)
	b.wait(5)
	b.wantSent(1)
	b.h.s.SetGate(b.now, 1, class, deadlock.Obey, 0)
	b.data(0, 3, 2)
	b.end()
	b.wantSent(1, 1)
}

func TestInsertHead(t *testing.T) {
	b := newPausedBench(t)
	p := packet.Packet{Seq: 100, To: 2, Size: 500, Meta: packet.MakeMeta(packet.Data, class)}
	if !b.h.s.InsertHead(b.now, 3, 2, &p) {
		t.Fatal("no room")
	}
	if q := b.sw.View().Ingress(3, class); q.Shared != 500 || q.Reserve != 0 {
		t.Errorf("ingress 3 stores %+v, want 500 B shared", q)
	}
	b.h.s.SetAside(600, mmu.Shared)
	p.Seq = 101
	b.h.s.InsertHead(b.now, 3, 2, &p)
	if q := b.sw.View().Ingress(3, class); q.Reserve != 500 || b.sw.View().Reserved() != 100 {
		t.Errorf("ingress 3 stores %+v with %d B set aside, want 500 B in the reserve and 100 B set aside", q, b.sw.View().Reserved())
	}
	b.h.s.ResizeShared(3500) // the bytes stored in it
	big := packet.Packet{Seq: 102, To: 2, Size: 1000, Meta: packet.MakeMeta(packet.Data, class)}
	if b.h.s.InsertHead(b.now, 3, 2, &big) {
		t.Error("a frame was inserted without room")
	}
	b.pause(2, false)
	b.end()
	b.wantSent(2, 101, 100, 1, 2, 3)
}

func TestAsideAndSplice(t *testing.T) {
	b := newPausedBench(t)
	b.h.arriving = func(*packet.Packet, *int) deadlock.Verdict { return deadlock.Aside }
	b.h.s.ArmIngress(1, 1<<class)
	b.data(1, 2, 11)
	b.data(0, 2, 4)
	b.data(1, 2, 12)
	if e := b.sw.View().Egress(2, class); e != 6000 {
		t.Errorf("the egress counts %d B, want 6000, including frames set aside", e)
	}
	b.pause(2, false)
	b.wait(10)
	b.wantSent(2, 1, 2, 3, 4)
	b.h.s.Splice(b.now, 2, class)
	b.h.s.Splice(b.now, 2, class) // nothing left: no effect
	b.data(0, 3, 5)
	b.end()
	b.wantSent(2, 1, 2, 3, 4, 11, 12)
}

func TestInLoopAndDropOnArrival(t *testing.T) {
	b := newPausedBench(t)
	if !b.h.s.SetAside(1500, mmu.Shared) {
		t.Fatal("no room")
	}
	b.h.s.ArmIngress(1, 1<<class)
	b.h.arriving = func(p *packet.Packet, out *int) deadlock.Verdict {
		if p.Seq == 13 {
			return deadlock.DropIt
		}
		*out = 2
		p.Flags |= packet.Marked
		return deadlock.InLoop
	}
	b.data(1, 3, 11) // 1000 of 1500 B of the reserve, routed to port 2
	b.data(1, 3, 12) // 500 B are too few: admitted like any other frame
	b.data(1, 3, 13)
	if q := b.sw.View().Ingress(1, class); q.Reserve != 1000 || q.Shared != 1000 {
		t.Errorf("ingress 1 stores %+v, want 1000 B each of reserve and shared", q)
	}
	if n := b.sw.PortStats(1, b.now).Drops[class][probe.Handler]; n != 1 {
		t.Errorf("%d frames dropped by the handler, want 1", n)
	}
	b.h.s.GiveBack(500)
	if v := b.sw.View(); v.Reserved() != 0 || v.SharedSize() != 19000 {
		t.Errorf("%d B set aside, shared segment %d B; want 0 and 20,000 - 1000 in use", v.Reserved(), v.SharedSize())
	}
	b.pause(2, false)
	b.end()
	b.wantSent(2, 1, 2, 3, 11, 12)
	if n := b.sw.View().SharedSize(); n != 20000 {
		t.Errorf("the shared segment ends with %d B, want 20,000", n)
	}
}

func TestHoldOffAndDropOnDeparture(t *testing.T) {
	b := newPausedBench(t)
	b.h.s.ArmEgress(2, 1<<class)
	hold := true
	b.h.departing = func(p *packet.Packet) deadlock.Verdict {
		switch {
		case p.Seq == 2:
			return deadlock.DropIt
		case hold:
			return deadlock.HoldOff
		}
		return deadlock.Normal
	}
	b.pause(2, false)
	b.wait(5)
	b.wantSent(2)
	hold = false
	b.h.s.SetGate(b.now, 2, class, deadlock.Obey, 0) // serve the queue again
	b.data(0, 1, 9)
	b.end()
	b.wantSent(2, 1, 3)
	if !reflect.DeepEqual(b.h.departed, []uint32{1, 3}) {
		t.Errorf("departed %v, want 1 and 3", b.h.departed)
	}
}

func TestDropWhereAndRequeue(t *testing.T) {
	b := newPausedBench(t)
	b.data(0, 2, 4)
	odd := func(p *packet.Packet) bool { return p.Seq%2 == 1 }
	if n := b.h.s.DropWhere(b.now, 2, class, odd); n != 2 {
		t.Errorf("%d dropped, want 2", n)
	}
	if e := b.sw.View().Egress(2, class); e != 2000 {
		t.Errorf("egress port 2 stores %d B, want 2000", e)
	}
	all := func(*packet.Packet) bool { return true }
	if n := b.h.s.Requeue(b.now, 2, class, 2, all); n != 0 {
		t.Errorf("%d frames moved to their own port, want 0", n)
	}
	if n := b.h.s.Requeue(b.now, 2, class, 3, all); n != 2 {
		t.Errorf("%d moved, want 2", n)
	}
	if v := b.sw.View(); v.Egress(3, class) != 2000 || v.Pair(0, 3, class).Packets != 2 || v.Pair(0, 2, class).Packets != 0 {
		t.Error("the counters did not move with the frames")
	}
	b.data(1, 1, 9)
	b.end()
	b.wantSent(2)
	b.wantSent(3, 2, 4)
}

func TestSetRoute(t *testing.T) {
	b := newBench(t)
	b.h.s.SetRoute(2, 3)
	b.data(0, 2, 1)
	b.wait(2)
	b.h.s.SetRoute(2, -1)
	b.data(0, 2, 2)
	b.end()
	b.wantSent(3, 1)
	b.wantSent(2, 2)
}

// Nodes with more than 16 bits: a handler sees the lower 16 bits of the switch, and can route to
// the last host.
func TestHandlerOfManyNodes(t *testing.T) {
	const host = packet.MaxHosts - 1
	b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc }, func(s *dataplane.SwitchSpec) {
		s.Node = packet.MaxHosts + 77
		s.Routes = route.NewTable(packet.MaxHosts)
		s.Routes.To[host], s.Routes.To[host&0xffff] = s.Routes.Add(1, 2), s.Routes.Add(3)
	})
	if b.h.s.ID() != 77 {
		t.Errorf("ID %d, want 77", b.h.s.ID())
	}
	if got := b.h.s.Choices(&packet.Packet{To: host}); !reflect.DeepEqual(got, []uint16{1, 2}) {
		t.Errorf("ports %v lead to host %d, want 1 and 2", got, host)
	}
	b.h.s.SetRoute(host, 0)
	b.data(2, host, 1)
	b.data(2, host&0xffff, 2)
	b.wait(2)
	b.h.s.SetRoute(host, -1)
	b.data(2, host, 3)
	b.end()
	b.wantSent(0, 1)
	b.wantSent(1, 3)
	b.wantSent(3, 2)
}

// Nine frames take 8000 B shared and 1000 B headroom. The first departure releases headroom by
// default, and shared bytes with SharedFirst.
func TestSetOrder(t *testing.T) {
	for _, c := range []struct {
		order            mmu.Order
		shared, headroom units.Bytes
	}{{mmu.HeadroomFirst, 8000, 0}, {mmu.SharedFirst, 7000, 1000}} {
		b := newBench(t)
		b.h.s.SetOrder(0, class, c.order)
		b.pause(2, true)
		for seq := uint32(1); seq <= 9; seq++ {
			b.data(0, 2, seq)
		}
		b.pause(2, false)
		if q := b.sw.View().Ingress(0, class); q.Shared != c.shared || q.Headroom != c.headroom {
			t.Errorf("order %d leaves %+v, want %d B shared and %d B headroom", c.order, q, c.shared, c.headroom)
		}
		b.end()
	}
}

func TestHoldResume(t *testing.T) {
	b := newPausedBench(t)
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq)
	}
	b.h.s.HoldResume(b.now, 0, 1<<class)
	b.pause(2, false)
	b.wait(20)
	if n := len(b.control[0]); n != 1 {
		t.Errorf("port 0 sent %+v, want the PAUSE only", b.control[0])
	}
	if got := b.h.paused; len(got) != 2 || got[1] != 0 {
		t.Errorf("the handler saw %v, want the end of the pause too", got)
	}
	b.h.s.HoldResume(b.now, 0, 0)
	b.data(1, 3, 20)
	if n := len(b.control[0]); n != 2 || b.control[0][1].pause != 0 || b.control[0][1].enable != 1<<class {
		t.Errorf("port 0 sent %+v, want PAUSE and RESUME", b.control[0])
	}
	b.end()
}

// A pause of 100 quanta lasts 100 x 512 bit / 100 Gbps = 512 ns. While its RESUME is withheld, it
// must be repeated, although the receiver is ON again.
func TestPauseRepeatsWhileResumeWithheld(t *testing.T) {
	timed := func(s *dataplane.SwitchSpec) {
		for i := range s.Ports {
			s.Ports[i].PFC.Indefinite = false
		}
	}
	b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc }, timed)
	b.pause(2, true)
	for seq := uint32(1); seq <= 9; seq++ {
		b.data(0, 2, seq) // the ninth turns the queue OFF
	}
	b.h.s.HoldResume(b.now, 0, 1<<class)
	b.pause(2, false)
	for window := range 20 {
		before := len(b.control[0])
		b.wait(6) // 480 ns
		repeated := b.control[0][before:]
		if len(repeated) == 0 {
			t.Fatalf("window %d: no PAUSE sent; the pause expired", window)
		}
		for _, f := range repeated {
			if f.pause != 1<<class || f.enable != 1<<class {
				t.Errorf("window %d: %+v, want the pause repeated", window, f)
			}
		}
	}
	if n := len(b.control[0]); n > 41 { // every 256 ns in 9,600 ns: 38, and the first
		t.Errorf("port 0 sent %d control frames, want at most 41", n)
	}
	before := len(b.control[0])
	b.h.s.HoldResume(b.now, 0, 0)
	b.data(1, 3, 20)
	b.wait(20)
	if repeated := b.control[0][before:]; len(repeated) != 1 || repeated[0].pause != 0 || repeated[0].enable != 1<<class {
		t.Errorf("after HoldResume ended, port 0 sent %+v, want one RESUME only", repeated)
	}
	b.end()
}

// A queue whose headroom was lent as reserve stays OFF until the reserve is free.
func TestReserveKeepsQueueOff(t *testing.T) {
	b := newPausedBench(t)
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq)
	}
	b.h.s.SetAside(1000, mmu.Headroom)
	b.h.s.ArmIngress(0, 1<<class)
	b.h.arriving = func(*packet.Packet, *int) deadlock.Verdict { return deadlock.InLoop }
	b.data(0, 2, 10)
	b.pause(2, false) // frame 1 leaves at once and is released from the reserve
	if q := b.sw.View().Ingress(0, class); q.Reserve != 0 || q.Headroom != 1000 || b.h.s.PausedClasses(0) == 0 {
		t.Errorf("after one departure: %+v, paused %08b", q, b.h.s.PausedClasses(0))
	}
	b.wait(1) // frame 2 is released from the headroom; 8000 B are not below 8000 B
	b.wait(1)
	if b.h.s.PausedClasses(0) != 0 {
		t.Error("still OFF with 7000 B of 8000 B")
	}
	b.end()
}
