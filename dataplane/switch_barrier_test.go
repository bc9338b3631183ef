package dataplane_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
)

func barrier(seq uint32) packet.Packet {
	return packet.Packet{Seq: seq, To: packet.NoNode, Size: 64, Meta: packet.MakeMeta(packet.Barrier, class)}
}

// drops returns the number of frames dropped at a port.
func (b *bench) drops(port int) (n uint32) {
	for _, d := range b.sw.PortStats(port, b.now).Drops {
		for _, reason := range d {
			n += reason
		}
	}
	return n
}

// A barrier at a switch where nothing is armed is silently consumed. One that a handler routes
// waits in its queue and is charged like data, 64 B.
func TestBarrier(t *testing.T) {
	b := newPausedBench(t)
	stray := barrier(7)
	stray.SetPort(1)
	b.sw.Arrive(b.now, 1, &stray, nil)
	if n := b.drops(1); n != 0 || b.sw.View().Stored() != 3000 {
		t.Errorf("a stray barrier: %d drops, %d B stored; want none and 3000 B", n, b.sw.View().Stored())
	}
	b.h.s.ArmIngress(1, 1<<class)
	b.h.arriving = func(_ *packet.Packet, out *int) deadlock.Verdict { *out = 2; return deadlock.Normal }
	b.sw.Arrive(b.now, 1, &stray, nil)
	if q := b.sw.View().Ingress(1, class); q.Shared != 64 {
		t.Errorf("ingress 1 stores %+v, want 64 B shared", q)
	}
	b.pause(2, false)
	b.end()
	b.wantSent(2, 1, 2, 3, 7)
}

// A consumed frame is neither dropped nor sent: on arrival, at the head of a queue, and when the
// handler removes its own barriers from a queue.
func TestConsume(t *testing.T) {
	b := newPausedBench(t)
	b.h.s.ArmIngress(1, 1<<class)
	b.h.arriving = func(*packet.Packet, *int) deadlock.Verdict { return deadlock.Consume }
	b.data(1, 2, 11)
	first, second := barrier(100), barrier(101)
	if !b.h.s.InsertHead(b.now, 0, 2, &first) || !b.h.s.InsertHead(b.now, 0, 2, &second) {
		t.Fatal("no room")
	}
	if n := b.h.s.DropWhere(b.now, 2, class, func(p *packet.Packet) bool { return p.Seq == 101 }); n != 1 {
		t.Errorf("%d barriers removed, want 1", n)
	}
	b.h.s.ArmEgress(2, 1<<class)
	b.h.departing = func(p *packet.Packet) deadlock.Verdict {
		if p.Kind() == packet.Barrier {
			return deadlock.Consume
		}
		return deadlock.Normal
	}
	b.pause(2, false)
	b.end()
	b.wantSent(2, 1, 2, 3)
	if n := b.drops(0) + b.drops(1); n != 0 {
		t.Errorf("%d frames counted as dropped", n)
	}
}

// Repeat sends an active PAUSE again with its header; without one it sends nothing.
func TestRepeat(t *testing.T) {
	b := newPausedBench(t)
	b.h.s.Repeat(b.now, 0, 1<<class)
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq)
	}
	pause := sentControl{packet.PFC, 1 << class, 1 << class, 1}
	if want := []sentControl{pause}; !reflect.DeepEqual(b.control[0], want) {
		t.Fatalf("port 0 sent %+v, want one PAUSE", b.control[0])
	}
	b.h.s.Repeat(b.now, 0, 1<<class)
	b.data(1, 3, 20) // any event sends it
	b.wait(1)
	if want := []sentControl{pause, pause}; !reflect.DeepEqual(b.control[0], want) {
		t.Errorf("port 0 sent %+v, want the PAUSE twice", b.control[0])
	}
	// Two frames with one word each.
	if s := b.sw.PortStats(0, b.now); s.Pauses[class] != 1 || s.Refreshes != 1 || s.HeaderBytes != 16 {
		t.Errorf("%d pauses, %d refreshes, %d B of headers; want 1, 1, 16", s.Pauses[class], s.Refreshes, s.HeaderBytes)
	}
	b.pause(2, false)
	b.end()
}

func TestLevelAndChoices(t *testing.T) {
	pfc := func(_ int, s flowctl.Scheme) flowctl.Scheme { return s }
	b := newBenchWith(t, pfc, func(s *dataplane.SwitchSpec) {
		s.Routes.Homes = append(s.Routes.Homes, route.MakeHome(4, 0))
		s.Routes.To = append(s.Routes.To, s.Routes.Add(1, 3))
	})
	b.pause(2, true)
	b.data(0, 2, 1)
	if q, xoff := b.h.s.Level(b.now, 0, class); q != 1000 || xoff != 8000 {
		t.Errorf("level %d of %d, want 1000 of 8000", q, xoff)
	}
	if b.h.s.WholePort(0) {
		t.Error("PFC has no pause of a whole port")
	}
	choices := func(dst uint32) []uint16 { return b.h.s.Choices(&packet.Packet{To: dst}) }
	if got := choices(4); !reflect.DeepEqual(got, []uint16{1, 3}) {
		t.Errorf("choices %v, want 1 and 3", got)
	}
	if got := choices(packet.NoNode); len(got) != 0 {
		t.Errorf("choices %v for no destination", got)
	}
	b.sw.SetRoutes(route.NewTable(5))
	if got := choices(4); len(got) != 0 {
		t.Errorf("choices %v after all routes were removed", got)
	}
	b.pause(2, false)
	b.end()
}

// Nine frames take 8000 B shared and 1000 B headroom; one more frame takes 1000 B of a reserve
// borrowed from the shared segment. Settled, 9000 B are shared and the headroom stays. With a
// part of only 400 B, 600 B of headroom should move to shared, but 10,800 of the 11,000 free B must
// stay free: 200 B move. After three departures 6200 B + 800 B are below 8000 B: the headroom is
// empty and the queue turns ON.
func TestSettle(t *testing.T) {
	b := newPausedBench(t)
	for seq := uint32(4); seq <= 9; seq++ {
		b.data(0, 2, seq)
	}
	b.h.arriving = func(*packet.Packet, *int) deadlock.Verdict { return deadlock.InLoop }
	b.h.s.ArmIngress(0, 1<<class)
	b.h.s.SetAside(1000, mmu.Shared)
	b.data(0, 2, 10)
	b.h.s.Settle(b.now, 0, class, 4000, 0)
	v := b.sw.View()
	if q := v.Ingress(0, class); q != (mmu.Ingress{Shared: 9000, Headroom: 1000}) || v.SharedSize() != 20000 {
		t.Errorf("settled: %+v of %d B, want 9000 B shared and 1000 B headroom of 20,000 B", q, v.SharedSize())
	}
	b.h.s.Settle(b.now, 0, class, 400, 10_800)
	if q := v.Ingress(0, class); q != (mmu.Ingress{Shared: 9200, Headroom: 800}) || v.SharedFree() != 10_800 {
		t.Errorf("part of the headroom moved: %+v, %d B free, want 9200 B and 800 B, 10,800 B free", q, v.SharedFree())
	}
	b.h.s.SetOrder(0, class, mmu.SharedFirst)
	b.h.s.DropWhere(b.now, 2, class, func(p *packet.Packet) bool { return p.Seq > 1 && p.Seq < 5 })
	if q := v.Ingress(0, class); q.Shared != 6200 || q.Headroom != 800 || b.h.s.PausedClasses(0) == 0 {
		t.Fatalf("%+v, paused %08b", q, b.h.s.PausedClasses(0))
	}
	b.h.s.Settle(b.now, 0, class, 4000, 0)
	b.data(1, 3, 20) // any event sends the RESUME
	b.wait(1)
	if q := v.Ingress(0, class); q.Shared != 7000 || q.Headroom != 0 || b.h.s.PausedClasses(0) != 0 {
		t.Errorf("settled again: %+v, paused %08b; want 7000 B shared, ON", q, b.h.s.PausedClasses(0))
	}
	b.pause(2, false)
	b.end()
	if n := b.sw.PortStats(0, b.now).Drops[class][probe.Handler]; n != 3 {
		t.Errorf("%d frames dropped, want 3", n)
	}
}
