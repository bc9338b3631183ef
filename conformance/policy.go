package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// Policy checks a buffer policy: an idle switch takes its first frame, nothing is
// admitted that does not fit, and under PFC, or the flow control that it relies on, a
// congested fabric of lossless and lossy classes loses no lossless frame, ends, and leaves
// nothing paused. If it is Proportional, results are the same without what that saves; if it
// is an Expeller, what it takes back is lossy, and taken when it says.
func Policy(t testing.TB, e registry.Entry[buffer.New]) {
	t.Helper()
	idleSwitch(t, e)
	for _, c := range []struct {
		name  string
		lossy bool
		cell  units.Bytes
		flow  func(*Network)
	}{
		{"lossless", false, 0, func(n *Network) { n.Flows = burst(40, 0) }},
		{"lossless and lossy", true, 0, func(n *Network) { n.Flows = burst(40, 0) }},
		{"cells", true, 254, func(n *Network) { n.Flows = burst(40, 0) }},
	} {
		name := e.Name + "/" + c.name
		watch := &policyWatch{bounded: e.Promises&registry.Bounded != 0}
		n := NewNetwork(dumbbell())
		n.Until, n.Cell = 400*units.Millisecond, c.cell
		partner(n, e)
		if c.lossy {
			n.Kinds[5], n.Kinds[6], n.Kinds[7] = mmu.Lossy, mmu.Lossy, mmu.Lossy
		}
		c.flow(n)
		n.Policy = func(_ int, env buffer.Env) (buffer.Policy, error) {
			p, err := e.New(paramsOf(e), env)
			if err != nil {
				return nil, err
			}
			return watch.wrap(p), nil
		}
		judge(t, name, same(t, name, n), wants{lossless: true, inOrder: !c.lossy, finish: true})
		if watch.report(t, name); watch.broke {
			return // without the watch a run might not end
		}
		n.Policy = func(_ int, env buffer.Env) (buffer.Policy, error) { return e.New(paramsOf(e), env) }
		shortcuts(t, name, n)
	}
	noAllocs(t, e.Name+"/allocations", func(packets int) *Network {
		n := NewNetwork(dumbbell())
		n.Flows = burst(packets, 0)
		partner(n, e)
		n.Policy = func(_ int, env buffer.Env) (buffer.Policy, error) { return e.New(paramsOf(e), env) }
		return n
	})
	gauges(t, buffer.Policies, e, func(c *scenario.Config, x scenario.Choice) {
		c.Switch.Policy = x
		if name := partnerOf(e); name != "" {
			c.Switch.FlowControl = must(scenario.Choose("flow_control", name))
		}
	})
}

// partnerOf returns the flow control that a policy relies on; empty: any does.
func partnerOf(e registry.Entry[buffer.New]) string {
	l := mmu.NewLedger(mmu.Spec{Ports: 1, Size: units.MiB, Shared: units.MiB})
	p, err := e.New(paramsOf(e), buffer.Env{View: l.View(), Rates: []units.Rate{units.Gbps}})
	if err != nil {
		return ""
	}
	if q, ok := p.(buffer.Partnered); ok {
		return q.FlowControls()[0]
	}
	return ""
}

// partner makes a network run that flow control.
func partner(n *Network, e registry.Entry[buffer.New]) {
	if name := partnerOf(e); name != "" {
		s := must(flowctl.Schemes.Get(name))
		scheme := must(s.New(s.Params()))
		n.Flow = func(int, int) flowctl.Scheme { return scheme }
	}
}

// idleSwitch offers one frame of each class to an empty switch.
func idleSwitch(t testing.TB, e registry.Entry[buffer.New]) {
	t.Helper()
	spec := mmu.Spec{Ports: 4, Size: units.MiB, Shared: units.MiB, Kinds: NewNetwork(dumbbell()).Kinds}
	spec.Kinds[6], spec.Kinds[7] = mmu.Lossy, mmu.Lossy
	l := mmu.NewLedger(spec)
	rates := []units.Rate{10 * units.Gbps, 25 * units.Gbps, 100 * units.Gbps, 0}
	p, err := e.New(paramsOf(e), buffer.Env{View: l.View(), Rates: rates})
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		return
	}
	for class := uint8(1); class < mmu.Classes; class++ {
		a := &mmu.Arrival{In: 0, Out: 2, Bytes: 1048, Class: class, Kind: spec.Kinds[class]}
		if !p.Fits(units.Microsecond, l.View(), a) {
			t.Errorf("%s: an empty switch refuses a frame of class %d", e.Name, class)
		}
		if spec.Kinds[class] == mmu.Lossless {
			if q, xoff := p.Level(units.Microsecond, l.View(), 0, class); q > xoff {
				t.Errorf("%s: an empty queue of class %d is above its threshold: %d > %d", e.Name, class, q, xoff)
			}
		}
	}
}

// policyWatch wraps a policy and looks at every call from inside the switch.
type policyWatch struct {
	faults
	bounded bool
	broke   bool // it took back what it must not, or not what it said
}

func (w *policyWatch) wrap(p buffer.Policy) buffer.Policy {
	base := &watchedPolicy{Policy: p, w: w, wake: wakeRule{armed: units.Never, bad: &w.faults, who: "policy"},
		stored: make(map[uint32]mmu.Arrival), highest: make(map[int]units.Bytes)}
	base.observer, _ = p.(buffer.Observer)
	base.pauses, _ = p.(buffer.PauseObserver)
	base.waker, _ = p.(buffer.Waker)
	base.expeller, _ = p.(buffer.Expeller)
	if _, ok := p.(buffer.Pairs); ok {
		return pairsPolicy{base}
	}
	return base
}

type pairsPolicy struct{ *watchedPolicy }

func (pairsPolicy) NeedsPairs() {}

type watchedPolicy struct {
	buffer.Policy
	w        *policyWatch
	observer buffer.Observer
	pauses   buffer.PauseObserver
	waker    buffer.Waker
	expeller buffer.Expeller
	wake     wakeRule
	now      units.Time
	stored   map[uint32]mmu.Arrival // by slot
	highest  map[int]units.Bytes    // by ingress queue: the highest threshold so far
}

func (p *watchedPolicy) Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	p.now = now
	queue := a.In*mmu.Classes + int(a.Class)
	if a.Kind == mmu.Lossless {
		q, xoff := p.Policy.Level(now, v, a.In, a.Class)
		if q < 0 || xoff < 0 {
			p.w.add("at %s the level of a queue is %d B of %d B", now, q, xoff)
		}
		p.highest[queue] = max(p.highest[queue], xoff)
	}
	fits := p.Policy.Fits(now, v, a)
	if fits && a.Bytes > v.SharedFree() {
		p.w.add("at %s a frame of %d B is admitted to %d B", now, a.Bytes, v.SharedFree())
	}
	if p.w.bounded && fits && a.Kind == mmu.Lossless && v.In(a.In, a.Class, mmu.Shared)+a.Bytes > max(a.Bytes, p.highest[queue]) {
		p.w.add("bounded: at %s queue %d grows to %d B, its threshold was never above %d B", now, queue,
			v.In(a.In, a.Class, mmu.Shared)+a.Bytes, p.highest[queue])
	}
	return fits
}

// Enqueued also checks what the switch owes an observer: a slot is taken once,
// and what leaves is what came.
func (p *watchedPolicy) Enqueued(now units.Time, v mmu.View, a *mmu.Arrival) {
	if _, taken := p.stored[a.Slot]; taken || a.Slot == 0 {
		p.w.add("at %s slot %d is taken twice", now, a.Slot)
	}
	p.stored[a.Slot] = *a
	if p.observer != nil {
		p.observer.Enqueued(now, v, a)
	}
}

func (p *watchedPolicy) Dequeued(now units.Time, v mmu.View, a *mmu.Arrival) {
	if was := p.stored[a.Slot]; was != *a {
		p.w.add("at %s slot %d leaves as %+v, it came as %+v", now, a.Slot, *a, was)
	}
	delete(p.stored, a.Slot)
	if p.observer != nil {
		p.observer.Dequeued(now, v, a)
	}
}

func (p *watchedPolicy) EgressPaused(now units.Time, port int, class uint8, on bool) {
	if p.pauses != nil {
		p.pauses.EgressPaused(now, port, class, on)
	}
}

func (p *watchedPolicy) NextWake() units.Time {
	if p.waker == nil {
		return units.Never
	}
	return p.wake.check(p.now, p.waker.NextWake())
}

func (p *watchedPolicy) Wake(now units.Time, v mmu.View) {
	p.now, p.wake.armed = now, units.Never
	p.waker.Wake(now, v)
}

// ExpelAt implements buffer.Expeller, also for policies that take nothing back.
func (p *watchedPolicy) ExpelAt(now units.Time, v mmu.View) units.Time {
	if p.expeller == nil {
		return units.Never
	}
	return p.expeller.ExpelAt(now, v)
}

// Expel also checks what a policy owes the switch: the queue is lossy and holds something,
// it was time, and when it was time there is one.
func (p *watchedPolicy) Expel(now units.Time, v mmu.View) (port int, class uint8, ok bool) {
	due := p.expeller.ExpelAt(now, v)
	port, class, ok = p.expeller.Expel(now, v)
	switch {
	case ok != (due <= now):
		p.w.add("push-out: at %s a frame is taken back: %t, it was to be at %s", now, ok, due)
	case ok && (v.Kind(class) != mmu.Lossy || v.Egress(port, class) == 0):
		p.w.add("push-out: at %s port %d is to give up a frame of class %d", now, port, class)
	default:
		return port, class, ok
	}
	p.expeller, p.w.broke = nil, true
	return 0, 0, false
}
