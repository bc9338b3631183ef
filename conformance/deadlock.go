package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// Deadlock checks a deadlock handler. Without a possible loop it must have no effect; on rings that
// deadlock it must keep its promises.
func Deadlock(t testing.TB, e registry.Entry[deadlock.New]) {
	t.Helper()
	lossless, inOrder := e.Promises&registry.Lossless != 0, e.Promises&registry.InOrder != 0
	resolves := e.Promises&registry.Resolves != 0
	wait, ordered := needs(e)
	try := func(name string, n *Network, finish bool) {
		t.Helper()
		name = e.Name + "/" + name
		watch := &handlerWatch{}
		n.PFC.Ordered = ordered
		n.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return watch.wrap(e, s) }
		r := runTwice(t, name, n)
		judge(t, name, r, requirements{lossless: lossless, inOrder: inOrder, finish: finish})
		watch.report(t, name)
		if n.Tables == nil && lossless && r.Totals.Forced+r.Totals.Drops[probe.Handler] != 0 {
			t.Errorf("%s: %d frames forced and %d dropped without a loop", name, r.Totals.Forced, r.Totals.Drops[probe.Handler])
		}
	}
	for _, c := range flowCases() {
		n := c.network()
		n.PFC.Indefinite = true // a long pause is not a deadlock
		try("no loop, "+c.name, n, true)
	}
	for _, c := range []struct {
		name    string
		n, hops int
	}{{"ring of 3", 3, 2}, {"ring of 4, two hops", 4, 2}, {"ring of 4, three hops", 4, 3}} {
		n := Ring(c.n, c.hops, 500*units.KB)
		// Time for every loop that such small queues can form, and for the handler.
		n.Until = 50*units.Millisecond + 100*wait
		try(c.name, n, resolves)
	}
	noAllocs(t, e.Name+"/allocations", func(packets int) *Network {
		n := NewNetwork(dumbbell())
		n.Flows = burst(packets, 0)
		n.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) { return e.New(paramsOf(e), s) }
		return n
	})
	checkGauges(t, deadlock.Handlers, e, func(c *scenario.Config, x scenario.Choice) {
		c.Switch.Deadlock, c.Switch.PFC.Coalesce = x, false
	})
}

// needs returns how long a handler tolerates a loop, and whether it needs pauses in order.
func needs(e registry.Entry[deadlock.New]) (wait units.Time, ordered bool) {
	n := NewNetwork(dumbbell())
	n.Flows, n.Until = burst(1, 0), units.Microsecond
	n.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) {
		h, err := e.New(paramsOf(e), s)
		if p, ok := h.(deadlock.Patient); ok {
			wait = max(wait, p.Patience())
		}
		_, ordered = h.(deadlock.Ordered)
		return h, err
	}
	n.run(false)
	return wait, ordered
}

// handlerWatch wraps a handler and the switch it sees.
type handlerWatch struct{ faults }

func (w *handlerWatch) wrap(e registry.Entry[deadlock.New], s deadlock.Switch) (deadlock.Handler, error) {
	sw := &watchedSwitch{Switch: s, w: w, wakes: timerRules{arm: s.WakeAt, bad: &w.faults, who: "handler"}}
	h, err := e.New(paramsOf(e), sw)
	if h == nil || err != nil {
		return nil, err
	}
	base := &watchedHandler{h: h, s: sw}
	base.hook, sw.hooked = h.(deadlock.Hook)
	sw.done(0)
	if _, ok := h.(deadlock.Pairs); ok {
		return pairsHandler{base}, nil
	}
	return base, nil
}

type pairsHandler struct{ *watchedHandler }

func (pairsHandler) NeedsPairs() {}

// watchedSwitch records the requests of a handler; the last wake of a call counts.
type watchedSwitch struct {
	deadlock.Switch
	w      *handlerWatch
	wakes  timerRules
	hooked bool
}

func (s *watchedSwitch) WakeAt(timer int, at units.Time) { s.wakes.request(timer, at) }

func (s *watchedSwitch) ArmIngress(port int, mask packet.ClassMask) {
	if s.arms(mask) {
		s.Switch.ArmIngress(port, mask)
	}
}

func (s *watchedSwitch) ArmEgress(port int, mask packet.ClassMask) {
	if s.arms(mask) {
		s.Switch.ArmEgress(port, mask)
	}
}

func (s *watchedSwitch) arms(mask packet.ClassMask) bool {
	if mask != 0 && !s.hooked {
		s.w.add("classes %08b are armed by a handler without hooks", mask)
		return false
	}
	return true
}

func (s *watchedSwitch) Send(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if f.Kind() != packet.Loop || f.Size < uint16(packet.PFCSize) {
		s.w.add("a handler sends a %s frame of %d B", f.Kind(), f.Size)
	}
	s.Switch.Send(now, port, f, ext)
}

func (s *watchedSwitch) done(now units.Time) { s.wakes.done(now) }

type watchedHandler struct {
	h    deadlock.Handler
	hook deadlock.Hook
	s    *watchedSwitch
}

func (h *watchedHandler) Gated(now units.Time, port int, from, to packet.ClassMask) {
	h.h.Gated(now, port, from, to)
	h.s.done(now)
}

func (h *watchedHandler) Paused(now units.Time, port int, from, to packet.ClassMask) {
	h.h.Paused(now, port, from, to)
	h.s.done(now)
}

func (h *watchedHandler) OnPFC(now units.Time, port int, f *packet.Packet, ext packet.Ext) packet.Ext {
	was := *f
	ext = h.h.OnPFC(now, port, f, ext)
	if *f != was {
		h.s.w.add("OnPFC changes the frame to %+v (expected %+v)", *f, was)
	}
	h.s.done(now)
	return ext
}

func (h *watchedHandler) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	h.h.Control(now, port, f, ext)
	h.s.done(now)
}

func (h *watchedHandler) Wake(now units.Time, timer int) {
	h.s.wakes.fired(timer)
	h.h.Wake(now, timer)
	h.s.done(now)
}

func (h *watchedHandler) Arriving(now units.Time, p *packet.Packet, out *int) deadlock.Verdict {
	was := *p
	v := h.hook.Arriving(now, p, out)
	if was.Flags = p.Flags; was != *p {
		h.s.w.add("Arriving changes more than flags: %+v", *p)
	}
	if v == deadlock.HoldOff {
		h.s.w.add("HoldOff is not a verdict for arrivals")
	}
	h.s.done(now)
	return v
}

func (h *watchedHandler) Departing(now units.Time, port int, p *packet.Packet) deadlock.Verdict {
	v := h.hook.Departing(now, port, p)
	if v == deadlock.Aside || v == deadlock.InLoop {
		h.s.w.add("verdict %d is for arrivals only", v)
	}
	h.s.done(now)
	return v
}

func (h *watchedHandler) Departed(now units.Time, port int, p *packet.Packet) {
	h.hook.Departed(now, port, p)
	h.s.done(now)
}
