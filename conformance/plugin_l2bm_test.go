package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/workload"
)

// l2bm is a miniature of L2BM: a queue whose packets leave soon gets more of the buffer.
// T = (C / tau) alpha (B - Q), with tau the mean remaining sojourn time of the packets of an ingress
// queue and C the sum over all queues with packets. Time behind a paused egress does not count
// (paused_time: freeze).
type l2bm struct {
	view   mmu.View
	rates  []units.Rate
	queues []l2bmQueue
	slots  []l2bmSlot   // by packet slot
	since  []units.Time // by egress queue: start of its pause; Never: not paused
}

type l2bmQueue struct {
	sum units.Time // S: sum of expected departure times
	n   units.Time // N
}

type l2bmSlot struct {
	leaves  units.Time // expected departure; 0: the slot is free
	in, out int        // queues
}

var l2bmEntry = registry.Entry[buffer.New]{
	Name: "test-l2bm", Doc: "thresholds by remaining sojourn", Promises: registry.Bounded,
	New: func(_ any, e buffer.Env) (buffer.Policy, error) {
		p := &l2bm{view: e.View, rates: e.Rates, queues: make([]l2bmQueue, len(e.Rates)*mmu.Classes), since: make([]units.Time, len(e.Rates)*mmu.Classes)}
		for i := range p.since {
			p.since[i] = units.Never
		}
		return p, nil
	},
}

// NeedsPairs implements buffer.Pairs.
func (p *l2bm) NeedsPairs() {}

// shortest is the floor of tau: one full frame at line rate.
func (p *l2bm) shortest(out int) units.Time { return max(1, p.rates[out]).TxTime(1048) }

// expected returns when a frame at the end of an egress queue will have left.
func (p *l2bm) expected(now units.Time, v mmu.View, out int, class uint8, b units.Bytes) units.Time {
	return now + p.rates[out].TxTime(v.Egress(out, class)+b)
}

// tau returns S / N - now, including an arriving frame if there is one.
func (p *l2bm) tau(now units.Time, queue int, arriving units.Time) units.Time {
	q := p.queues[queue]
	if arriving > 0 {
		q.sum += arriving
		q.n++
	}
	if q.n == 0 {
		return units.Never
	}
	return max(q.sum/q.n-now, p.shortest(queue/mmu.Classes))
}

func (p *l2bm) threshold(now units.Time, v mmu.View, queue int, arriving units.Time) units.Bytes {
	tau := p.tau(now, queue, arriving)
	free := v.SharedFree()
	if tau == units.Never {
		return free
	}
	sum := tau
	for i := range p.queues {
		if i != queue && p.queues[i].n > 0 {
			sum += p.tau(now, i, 0)
		}
	}
	const alpha = 8 // 1/8
	return min(free, units.Bytes(int64(free)/alpha*int64(sum/units.Nanosecond)/int64(max(1, tau/units.Nanosecond))))
}

// Fits implements buffer.Policy. Lossy queues are compared with the same threshold at the ingress
// and with DT at the egress.
func (p *l2bm) Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	queue := a.In*mmu.Classes + int(a.Class)
	t := p.threshold(now, v, queue, p.expected(now, v, a.Out, a.Class, a.Bytes))
	if a.Kind == mmu.Lossy && v.Egress(a.Out, a.Class)+a.Bytes > v.SharedFree() {
		return false
	}
	return v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= t && a.Bytes <= v.SharedFree()
}

// Level implements buffer.Policy.
func (p *l2bm) Level(now units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), p.threshold(now, v, port*mmu.Classes+int(class), 0)
}

// Enqueued implements buffer.Observer: the egress queue already counts the frame.
func (p *l2bm) Enqueued(now units.Time, v mmu.View, a *mmu.Arrival) {
	for len(p.slots) <= int(a.Slot) {
		p.slots = append(p.slots, l2bmSlot{})
	}
	s := l2bmSlot{p.expected(now, v, a.Out, a.Class, 0), a.In*mmu.Classes + int(a.Class), a.Out*mmu.Classes + int(a.Class)}
	p.slots[a.Slot] = s
	p.queues[s.in].sum += s.leaves
	p.queues[s.in].n++
}

// Dequeued implements buffer.Observer. It subtracts exactly the value added for the packet, so that
// an empty queue has S = 0.
func (p *l2bm) Dequeued(_ units.Time, _ mmu.View, a *mmu.Arrival) {
	s := &p.slots[a.Slot]
	p.queues[s.in].sum -= s.leaves
	p.queues[s.in].n--
	s.leaves = 0
	if q := p.queues[s.in]; q.n == 0 && q.sum != 0 {
		panic("l2bm: an empty queue has expected departures")
	}
}

// EgressPaused implements buffer.PauseObserver.
func (p *l2bm) EgressPaused(now units.Time, port int, class uint8, on bool) {
	out := port*mmu.Classes + int(class)
	if on {
		p.since[out] = now
		return
	}
	paused := now - p.since[out]
	p.since[out] = units.Never
	moved := make(map[int]int32)
	for i := range p.slots {
		if s := &p.slots[i]; s.leaves != 0 && s.out == out {
			s.leaves += paused
			p.queues[s.in].sum += paused
			moved[s.in/mmu.Classes]++
		}
	}
	for in, n := range moved {
		if have := p.view.Pair(in, port, class).Packets; have != n {
			panic("l2bm: the pair matrix does not match the packets of an egress")
		}
	}
}

func TestL2BMEndToEnd(t *testing.T) {
	cfg := incast(t)
	cfg.Switch.Buffer.Size = 6 * units.MiB
	cfg.Switch.Policy.Name, cfg.Switch.Policy.Params = l2bmEntry.Name, nil
	cfg.Workload[0].Params.(*workload.Incast).Size = 2 * units.MB
	if total := runScenario(t, cfg, nil); total.Pauses == 0 || total.Pauses != total.Resumes {
		t.Errorf("%d pauses, %d resumes", total.Pauses, total.Resumes)
	}
}
