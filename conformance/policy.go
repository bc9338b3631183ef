package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// Policy checks a buffer policy. An idle switch must accept its first frame, and no frame may be
// admitted without room. A congested fabric with lossless and lossy classes runs with PFC or the
// flow control that the policy requires: no lossless frame is dropped, all flows finish, and
// nothing stays paused. Results must not depend on shortcuts (buffer.Proportional). A
// buffer.Expeller must expel only lossy frames, and only when due.
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
		judge(t, name, runTwice(t, name, n), requirements{lossless: true, inOrder: !c.lossy, finish: true})
		if watch.report(t, name); watch.broke {
			return // without the wrapper a run might not end
		}
		n.Policy = func(_ int, env buffer.Env) (buffer.Policy, error) { return e.New(paramsOf(e), env) }
		checkShortcuts(t, name, n)
	}
	noAllocs(t, e.Name+"/allocations", func(packets int) *Network {
		n := NewNetwork(dumbbell())
		n.Flows = burst(packets, 0)
		n.Policy = func(_ int, env buffer.Env) (buffer.Policy, error) { return e.New(paramsOf(e), env) }
		return n
	})
	checkGauges(t, buffer.Policies, e, func(c *scenario.Config, x scenario.Choice) {
		c.Switch.Policy = x
	})
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

// policyWatch wraps a policy and checks every call from the switch.
type policyWatch struct {
	faults
	bounded bool
	broke   bool // Expel returned something invalid
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
	highest  map[int]units.Bytes    // by ingress queue: highest threshold so far
}

func (p *watchedPolicy) Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	p.now = now
	queue := a.In*mmu.Classes + int(a.Class)
	if a.Kind == mmu.Lossless {
		q, xoff := p.Policy.Level(now, v, a.In, a.Class)
		if q < 0 || xoff < 0 {
			p.w.add("at %s a queue has level %d B and threshold %d B (expected 0 or more)", now, q, xoff)
		}
		p.highest[queue] = max(p.highest[queue], xoff)
	}
	fits := p.Policy.Fits(now, v, a)
	if fits && a.Bytes > v.SharedFree() {
		p.w.add("at %s a frame of %d B is admitted with %d B free", now, a.Bytes, v.SharedFree())
	}
	if p.w.bounded && fits && a.Kind == mmu.Lossless && v.In(a.In, a.Class, mmu.Shared)+a.Bytes > max(a.Bytes, p.highest[queue]) {
		p.w.add("bounded: at %s queue %d grows to %d B, although its threshold was never above %d B", now, queue,
			v.In(a.In, a.Class, mmu.Shared)+a.Bytes, p.highest[queue])
	}
	return fits
}

// Enqueued also checks the switch: a slot is used once at a time, and a frame leaves as it was
// stored.
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
		p.w.add("at %s slot %d leaves as %+v (expected %+v)", now, a.Slot, *a, was)
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

// ExpelAt implements buffer.Expeller, also for policies that never expel.
func (p *watchedPolicy) ExpelAt(now units.Time, v mmu.View) units.Time {
	if p.expeller == nil {
		return units.Never
	}
	return p.expeller.ExpelAt(now, v)
}

// Expel also checks the policy: it returns a queue exactly when one is due, and the queue is lossy
// and not empty.
func (p *watchedPolicy) Expel(now units.Time, v mmu.View) (port int, class uint8, ok bool) {
	due := p.expeller.ExpelAt(now, v)
	port, class, ok = p.expeller.Expel(now, v)
	switch {
	case ok != (due <= now):
		p.w.add("push-out: at %s Expel returns %t, but ExpelAt returned %s", now, ok, due)
	case ok && (v.Kind(class) != mmu.Lossy || v.Egress(port, class) == 0):
		p.w.add("push-out: at %s Expel returns port %d, class %d (expected a lossy queue with frames)", now, port, class)
	default:
		return port, class, ok
	}
	p.expeller, p.w.broke = nil, true
	return 0, 0, false
}
