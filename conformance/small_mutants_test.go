package conformance_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/scheme/sched"
)

type pickFunc func(eligible packet.ClassMask) int

func (f pickFunc) Pick(eligible packet.ClassMask) int { return f(eligible) }
func (f pickFunc) Sent(int, units.Bytes, bool)        {}
func (f pickFunc) Quantum(int) units.Bytes            { return 1600 }

var garbage *[4]int

func TestSchedulerRejects(t *testing.T) {
	turn := 0
	for _, c := range []struct {
		name, want string
		pick       pickFunc
	}{
		{"picks a paused class", "picks class 7", func(packet.ClassMask) int { return 7 }},
		{"last class first", "a strict class waits", func(m packet.ClassMask) int { return 7 - bits.LeadingZeros8(uint8(m)) }},
		{"strict where shares are promised", "proportional", func(m packet.ClassMask) int { return int(m.Lowest()) }},
		{"shared state", "two instances", func(m packet.ClassMask) int {
			turn++
			for m&1 == 0 && !m.Has(uint8(turn)) {
				turn++
			}
			if m&1 != 0 {
				return 0
			}
			return turn & 7
		}},
		{"allocates", "allocations", func(m packet.ClassMask) int { garbage = new([4]int); return int(m.Lowest()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := registry.Entry[sched.New]{Name: "mutant", Promises: registry.Proportion | registry.InOrder, New: func(any, sched.Env) (sched.Scheduler, error) { return c.pick, nil }}
			mustReject(t, c.want, func(tb testing.TB) { conformance.Scheduler(tb, e) })
		})
	}
}

type markFunc struct {
	floor units.Bytes
	mark  func(q units.Bytes, r *rand.PCG) bool
}

func (m markFunc) Floor() units.Bytes                   { return m.floor }
func (m markFunc) Mark(q units.Bytes, r *rand.PCG) bool { return m.mark(q, r) }

func TestMarkerRejects(t *testing.T) {
	for _, c := range []struct {
		name, want string
		mark       func(q units.Bytes, r *rand.PCG) bool
	}{
		{"marks at the floor", "its floor is", func(q units.Bytes, _ *rand.PCG) bool { return q >= 50*units.KB }},
		{"fewer marks on longer queues", "fewer than", func(q units.Bytes, _ *rand.PCG) bool { return q > 50*units.KB && q < 200*units.KB }},
		{"another random source", "same random stream", func(q units.Bytes, _ *rand.PCG) bool { return q > 50*units.KB && rand.Uint32()&1 == 0 }},
		{"allocates", "allocations", func(units.Bytes, *rand.PCG) bool { garbage = new([4]int); return false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := registry.Entry[mark.New]{Name: "mutant", New: func(any, units.Rate) (mark.Marker, error) { return markFunc{50 * units.KB, c.mark}, nil }}
			mustReject(t, c.want, func(tb testing.TB) { conformance.Marker(tb, e) })
		})
	}
}

// badRouter is a router with one mistake.
type badRouter struct {
	table *route.Table
	sound route.Router
	next  int
	how   string
}

func (r *badRouter) Replace(t *route.Table) { r.sound.Replace(t) }

func (r *badRouter) Route(now units.Time, in int, p *packet.Packet) int {
	switch {
	case r.how == "unreachable" && (p.Dst() == 3 || p.Dst() == 4):
		return 0
	case r.how == "outside" && p.Dst() == 1:
		return 3
	case r.how == "sprays" && p.Dst() == 2:
		r.next++
		ports := r.table.Set(2)
		return int(ports[r.next%len(ports)])
	case r.how == "pins":
		q := *p
		q.Flags &^= packet.Pinned
		return r.sound.Route(now, in, &q)
	case r.how == "allocates":
		garbage = new([4]int)
	}
	return r.sound.Route(now, in, p)
}

func TestRouterRejects(t *testing.T) {
	sound, err := route.Routers.Get("ecmp")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ how, want string }{
		{"unreachable", "cannot be reached"}, {"outside", "does not lead to"}, {"sprays", "in-order"}, {"pins", "of flow 7"}, {"allocates", "allocations"},
	} {
		t.Run(c.how, func(t *testing.T) {
			e := registry.Entry[route.New]{Name: "mutant", Promises: registry.InOrder, New: func(_ any, env route.Env) (route.Router, error) {
				r, err := sound.New(nil, env)
				return &badRouter{table: env.Table, sound: r, how: c.how}, err
			}}
			mustReject(t, c.want, func(tb testing.TB) { conformance.Router(tb, e) })
		})
	}
}

// badFlowlets is a flowlet router with a mistake.
type badFlowlets struct {
	route.Router
	claimed units.Time // the gap that it claims
}

func (r *badFlowlets) Gap() units.Time { return r.claimed }

// Flowlets that end too early or never, and a router without a gap.
func TestFlowletsReject(t *testing.T) {
	sound, err := route.Routers.Get("flowlet")
	if err != nil {
		t.Fatal(err)
	}
	us := units.Microsecond
	for _, c := range []struct {
		name, want string
		build      route.New
	}{
		{"shorter gap than claimed", "within a flowlet", func(_ any, env route.Env) (route.Router, error) {
			r, err := sound.New(&route.FlowletParams{Gap: us, Entries: 64}, env)
			return &badFlowlets{Router: r, claimed: 50 * us}, err
		}},
		{"one path forever", "no flow ever moved", func(_ any, env route.Env) (route.Router, error) {
			r, err := sound.New(&route.FlowletParams{Gap: units.Second, Entries: 64}, env)
			return &badFlowlets{Router: r, claimed: us}, err
		}},
		{"no gap", "route.Gapped", func(_ any, env route.Env) (route.Router, error) {
			r, err := sound.New(&route.FlowletParams{Gap: us, Entries: 64}, env)
			return struct{ route.Router }{r}, err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := registry.Entry[route.New]{Name: "mutant", Promises: registry.Flowlets, New: c.build}
			mustReject(t, c.want, func(tb testing.TB) { conformance.Router(tb, e) })
		})
	}
}

// badControl is a fixed rate with one mistake.
type badControl struct {
	how   string
	flow  cc.Flow
	cnps  int
	sent  units.Bytes
	timer units.Time
}

func (c *badControl) Start(now units.Time, f *cc.Flow) {
	c.flow = *f
	if c.how != "remembers" {
		c.cnps = 0
	}
	c.sent = 0
	c.timer = now + units.Microsecond
}
func (c *badControl) OnSend(_ units.Time, b units.Bytes) { c.sent += b }
func (c *badControl) OnAck(units.Time, *cc.Ack) {
	if c.how == "allocates" {
		garbage = new([4]int)
	}
}
func (c *badControl) OnCNP(units.Time) { c.cnps++ }
func (c *badControl) OnLoss(units.Time, bool) {
	if c.how == "cheered" {
		c.cnps = 0
	}
}
func (c *badControl) Rate(units.Time) units.Rate {
	switch c.how {
	case "too fast":
		return c.flow.Line + units.Rate(c.cnps)
	case "stops":
		return c.flow.Line / units.Rate(1+c.cnps*c.cnps*c.cnps*c.cnps*c.cnps)
	case "deaf":
		return c.flow.Line
	}
	return max(units.Mbps, c.flow.Line/units.Rate(1+c.cnps))
}
func (c *badControl) Window(now units.Time) units.Bytes {
	switch {
	case c.how == "shut" && c.cnps > 10:
		return 0
	case c.how == "drifts":
		return units.MB + units.Bytes(now)
	case c.how == "spends":
		return cc.Unlimited - c.sent
	}
	return cc.Unlimited
}

type badTimed struct{ badControl }

func (c *badTimed) NextTimer() units.Time { return c.timer }
func (c *badTimed) OnTimer(units.Time)    {}

func TestCongestionControlRejects(t *testing.T) {
	for _, c := range []struct{ how, want string }{
		{"too fast", "line rate"}, {"stops", "rate 0"}, {"deaf", "reactive"}, {"shut", "window 0"}, {"remembers", "reset all state"}, {"cheered", "speeds up"}, {"drifts", "window contract"}, {"spends", "window contract"}, {"allocates", "allocations"},
	} {
		t.Run(c.how, func(t *testing.T) {
			e := registry.Entry[cc.New]{Name: "mutant", Promises: registry.Reactive, New: func(any) (cc.Factory, error) {
				return func() cc.Control { return &badControl{how: c.how} }, nil
			}}
			mustReject(t, c.want, func(tb testing.TB) { conformance.CongestionControl(tb, e) })
		})
	}
	t.Run("timer does not advance", func(t *testing.T) {
		e := registry.Entry[cc.New]{Name: "mutant", New: func(any) (cc.Factory, error) {
			return func() cc.Control { return &badTimed{} }, nil
		}}
		mustReject(t, "timer contract", func(tb testing.TB) { conformance.CongestionControl(tb, e) })
	})
}
