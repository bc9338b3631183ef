package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
)

// routeTable returns a table with one, two and three ports for hosts 0, 1 and 2, none for host 3,
// and pinned ports for flow 7.
func routeTable() *route.Table {
	t := route.NewTable(4)
	t.To[0], t.To[1], t.To[2] = t.Add(4), t.Add(1, 2), t.Add(0, 3, 5)
	t.Pinned = map[uint32]uint16{7 << 1: 6, 7<<1 | 1: 2}
	return t
}

// routeEnv returns the environment of an empty switch with eight ports.
func routeEnv(table *route.Table) route.Env {
	rates := make([]units.Rate, 8)
	for i := range rates {
		rates[i] = 100 * units.Gbps
	}
	return route.NewEnv(table, mmu.NewLedger(mmu.Spec{Ports: len(rates)}).View(), rates, 5)
}

// Router checks a router. It must use only ports of the table, obey pins, and return -1 for
// unreachable hosts. If promised, it keeps one port per flow, or per flowlet. The same seed must
// give the same choices, and nothing may be allocated. In a network nothing is dropped and all
// flows finish.
func Router(t testing.TB, e registry.Entry[route.New]) {
	t.Helper()
	build := func(env route.Env) (route.Router, error) { return e.New(paramsOf(e), env) }
	a, err := build(routeEnv(routeTable()))
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	if !portsOfTable(t, e, a, must(build(routeEnv(routeTable())))) {
		return
	}
	pinned(t, e, a)
	p := packet.Packet{Hash: 9, To: 2}
	now := units.Second
	if n := testing.AllocsPerRun(100, func() {
		now += units.Millisecond
		a.Route(now, 0, &p)
	}); n != 0 {
		t.Errorf("%s: %v allocations per packet", e.Name, n)
	}
	replaced(t, e, must(build(routeEnv(routeTable()))))
	host := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	name := e.Name + "/network"
	n := NewNetwork(topo.LeafSpine(2, 3, 3, host, host))
	n.Flows, n.Until, n.Router = burst(40, 0), 400*units.Millisecond, build
	order := e.Promises&registry.InOrder != 0
	judge(t, name, runTwice(t, name, n), requirements{lossless: true, inOrder: order, finish: true})
}

// portsOfTable sends packets of many flows through two routers, some in bursts with gaps.
func portsOfTable(t testing.TB, e registry.Entry[route.New], a, b route.Router) bool {
	t.Helper()
	gap := units.Time(0)
	if e.Promises&registry.Flowlets != 0 {
		g, ok := a.(route.Gapped)
		if !ok {
			t.Errorf("%s: promises order within flowlets, but does not implement route.Gapped", e.Name)
			return false
		}
		gap = g.Gap()
	}
	table, flows := routeTable(), uint32(97)
	last := make(map[uint32]struct {
		at   units.Time
		port int
	})
	moved, now := 0, units.Time(0)
	for i := range uint32(6000) {
		flow := route.Mix(i) % flows
		now += gap / 3000 * units.Time(route.Mix(i^7)%100)
		p := packet.Packet{Flow: flow + 100, Seq: i, Hash: route.Mix(flow), To: flow % 5, Meta: packet.MakeMeta(packet.Data, 1)}
		port := a.Route(now, int(i%8), &p)
		if other := b.Route(now, int(i%8), &p); other != port {
			t.Errorf("%s: two routers with the same seed choose ports %d and %d", e.Name, port, other)
			return false
		}
		if p.Dst() >= 3 {
			if port != -1 {
				t.Errorf("%s: host %d cannot be reached, but is routed to port %d (expected -1)", e.Name, p.Dst(), port)
				return false
			}
			continue
		}
		if !contains(table.Set(p.Dst()), port) {
			t.Errorf("%s: port %d does not lead to host %d", e.Name, port, p.Dst())
			return false
		}
		was, before := last[flow]
		if before && was.port != port {
			moved++
			switch {
			case e.Promises&registry.InOrder != 0:
				t.Errorf("%s: in-order: flow %d takes ports %d and %d", e.Name, flow, was.port, port)
				return false
			case e.Promises&registry.Flowlets != 0 && now-was.at <= gap:
				t.Errorf("%s: flow %d moves from port %d to %d within a flowlet: after %s (expected more than %s)", e.Name, flow, was.port, port, now-was.at, gap)
				return false
			}
		}
		was.at, was.port = now, port
		last[flow] = was
	}
	if e.Promises&registry.Flowlets != 0 && moved == 0 {
		t.Errorf("%s: no flow ever moved: flowlets were not tested", e.Name)
	}
	return true
}

func pinned(t testing.TB, e registry.Entry[route.New], r route.Router) {
	t.Helper()
	for _, c := range []struct {
		kind  packet.Kind
		flags packet.Flags
		want  []uint16
	}{
		{packet.Data, packet.Pinned, []uint16{6}},
		{packet.Ack, packet.Pinned, []uint16{2}},
		{packet.Data, 0, []uint16{4}},
	} {
		p := packet.Packet{Flow: 7, To: 0, Meta: packet.MakeMeta(c.kind, 0), Flags: c.flags}
		if port := r.Route(units.Second, 0, &p); !contains(c.want, port) {
			t.Errorf("%s: a %s frame of flow 7 with flags %b goes to port %d (expected %v)", e.Name, c.kind, c.flags, port, c.want)
		}
	}
	p := packet.Packet{Flow: 8, To: 0, Flags: packet.Pinned}
	if port := r.Route(units.Second, 0, &p); port != 4 {
		t.Errorf("%s: a pinned flow without a pin in this table goes to port %d (expected 4)", e.Name, port)
	}
}

// replaced checks Replace: a router uses only the new table or, if it ignores Replace, only the
// old one.
func replaced(t testing.TB, e registry.Entry[route.New], r route.Router) {
	t.Helper()
	old := routeTable()
	next := route.NewTable(4)
	one := next.Add(7)
	next.To = []route.Hops{one, one, one, one}
	const tries = 100
	send := func(i uint32) int {
		p := packet.Packet{Flow: i, Hash: route.Mix(i), To: 2}
		return r.Route(0, 0, &p)
	}
	for i := range uint32(tries) {
		send(i) // these choices must not survive the table
	}
	r.Replace(next)
	fresh := 0
	for i := range uint32(tries) {
		port := send(i)
		if port == 7 {
			fresh++
		} else if !contains(old.Set(2), port) {
			t.Errorf("%s: port %d is in neither table", e.Name, port)
			return
		}
	}
	if fresh != 0 && fresh != tries {
		t.Errorf("%s: after Replace %d of %d packets follow the new table", e.Name, fresh, tries)
	}
}

func contains(ports []uint16, port int) bool {
	for _, p := range ports {
		if int(p) == port {
			return true
		}
	}
	return false
}
