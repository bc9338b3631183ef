package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
)

// routeTable has one, two and three ways to a host, none to the last, and a flow
// that is pinned to a port of its own.
func routeTable() *route.Table {
	t := route.NewTable(4)
	t.To[0], t.To[1], t.To[2] = t.Add(4), t.Add(1, 2), t.Add(0, 3, 5)
	t.Pinned = map[uint32]uint16{7 << 1: 6, 7<<1 | 1: 2}
	return t
}

// Router checks a router: only ports of the table, pinned flows where they are
// pinned, -1 for what cannot be reached, one port per flow where order is
// promised, the same choices from the same seed, no allocations.
func Router(t testing.TB, e registry.Entry[route.New]) {
	t.Helper()
	table := routeTable()
	a, b := e.New(table, 5), e.New(table, 5)
	first := make(map[uint32]int)
	for i := range uint32(3000) {
		flow := i % 97
		p := packet.Packet{Flow: flow + 100, Seq: i, Hash: route.Mix(flow), Dst: uint16(flow % 5), Meta: packet.MakeMeta(packet.Data, 1)}
		port := a.Route(&p)
		if other := b.Route(&p); other != port {
			t.Errorf("%s: two routers of the same seed choose %d and %d", e.Name, port, other)
			return
		}
		if p.Dst >= 3 {
			if port != -1 {
				t.Errorf("%s: host %d cannot be reached, routed to port %d", e.Name, p.Dst, port)
				return
			}
			continue
		}
		if !contains(table.Set(p.Dst), port) {
			t.Errorf("%s: port %d is no way to host %d", e.Name, port, p.Dst)
			return
		}
		if was, ok := first[flow]; !ok {
			first[flow] = port
		} else if was != port && e.Promises&registry.InOrder != 0 {
			t.Errorf("%s: in-order: flow %d takes ports %d and %d", e.Name, flow, was, port)
			return
		}
	}
	pinned(t, e, a)
	p := packet.Packet{Hash: 9, Dst: 2}
	if n := testing.AllocsPerRun(100, func() { a.Route(&p) }); n != 0 {
		t.Errorf("%s: %v allocations per packet", e.Name, n)
	}
	replaced(t, e)
	host := topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	name := e.Name + "/network"
	n := NewNetwork(topo.LeafSpine(2, 3, 3, host, host))
	n.Flows, n.Until, n.Router = burst(40, 0), 400*units.Millisecond, e.New
	order := e.Promises&registry.InOrder != 0
	judge(t, name, same(t, name, n), wants{lossless: true, inOrder: order, finish: true})
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
		p := packet.Packet{Flow: 7, Dst: 0, Meta: packet.MakeMeta(c.kind, 0), Flags: c.flags}
		if port := r.Route(&p); !contains(c.want, port) {
			t.Errorf("%s: a %s frame of flow 7 with flags %b goes to port %d, not %v", e.Name, c.kind, c.flags, port, c.want)
		}
	}
	p := packet.Packet{Flow: 8, Dst: 0, Flags: packet.Pinned}
	if port := r.Route(&p); port != 4 {
		t.Errorf("%s: a pinned flow without a pin here goes to port %d, not 4", e.Name, port)
	}
}

// replaced: after new tables a router stays within the new ones, or, if it never
// learns, within the old ones; it mixes nothing.
func replaced(t testing.TB, e registry.Entry[route.New]) {
	t.Helper()
	old := routeTable()
	next := route.NewTable(4)
	one := next.Add(9)
	next.To = []uint16{one, one, one, one}
	r := e.New(old, 5)
	r.Replace(next)
	fresh := 0
	const tries = 100
	for i := range uint32(tries) {
		p := packet.Packet{Flow: i, Hash: route.Mix(i), Dst: 2}
		port := r.Route(&p)
		if port == 9 {
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
