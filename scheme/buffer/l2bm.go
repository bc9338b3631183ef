package buffer

import (
	"fmt"
	"math/bits"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// L2BMParams are the parameters of L2BM.
type L2BMParams struct {
	Algorithm  string      `yaml:"algorithm" allowed:"mended,printed" doc:"sojourn times: from each packet's expected departure (mended), or from the paper's Algorithm 1, which drifts (printed)"`
	Alpha      units.Ratio `yaml:"alpha" doc:"alpha of ingress queues, lossless and lossy"`
	AlphaLossy units.Ratio `yaml:"alpha_lossy" doc:"threshold of a lossy egress queue: this times the free bytes of the lossy pool"`
	C          Norm        `yaml:"c" doc:"C in the weights C / tau: the sum or the mean of tau over all queues that store packets, or a time"`
	PausedTime string      `yaml:"paused_time" allowed:"ignore,freeze" doc:"expected time left of packets behind a paused egress: keeps running down (ignore) or stops (freeze)"`
	LossyPool  units.Ratio `yaml:"lossy_pool" doc:"share of the shared segment that all lossy queues together may fill"`
}

// Norm is the normalization constant C of L2BM.
type Norm struct {
	Rule string     // sum or mean; empty: Time counts
	Time units.Time // above 0
}

// UnmarshalText reads "sum", "mean" or a time.
func (n *Norm) UnmarshalText(text []byte) error {
	switch s := string(text); s {
	case "sum", "mean":
		*n = Norm{Rule: s}
		return nil
	default:
		t, err := units.ParseTime(s)
		if err != nil || t <= 0 {
			return fmt.Errorf("invalid C %q (expected sum, mean, or a time above 0 such as 10us)", s)
		}
		*n = Norm{Time: t}
		return nil
	}
}

// MarshalText writes the form that UnmarshalText reads.
func (n Norm) MarshalText() ([]byte, error) {
	if n.Rule != "" {
		return []byte(n.Rule), nil
	}
	return []byte(n.Time.String()), nil
}

// Pattern returns a regular expression for the texts that UnmarshalText reads, used by editors.
func (Norm) Pattern() string { return "^(sum|mean|" + units.TimePattern + ")$" }

// l2bm gives more buffer to ingress queues whose packets leave soon (L2BM section III):
//
//	T = C / tau x alpha (B - Q)    (eq. 3), at most B - Q
//
// where tau is the mean time until the packets of the queue leave. A packet is expected to stay
// Q_out / mu, with the packet itself counted in Q_out. mu is the share of the line that its class
// gets: the line rate, divided among the backlogged classes of the port by quanta. A threshold
// includes the arriving packet, so that an idle switch does not refuse its first one. tau is at
// least the time of one MTU at the rate of the queue's port. Egress queues of lossy classes keep
// Dynamic Threshold.
type l2bm struct {
	pools
	alpha, lossyAlpha alpha
	norm              Norm
	printed           bool
	rates             []units.Rate
	quanta            [][mmu.Classes]units.Bytes
	classes           []uint8 // classes that carry data
	queues            []stay  // by ingress queue
	taus              sojourns
	slots             []units.Time // by slot: expected departure, minus the paused time of its egress so far
	paused            []pausedFor  // by egress queue; nil: paused time is ignored
}

// stay describes when the packets of an ingress queue leave. rest is the sum of their remaining
// times at time at: S - N now, where S is the sum of expected departures.
type stay struct {
	rest, at  units.Time
	n, frozen units.Time // packets; packets behind a paused egress
}

// pausedFor is the total paused time of an egress queue.
type pausedFor struct {
	before units.Time
	since  units.Time // start of the current pause; Never: not paused
}

func (p *pausedFor) until(now units.Time) units.Time {
	if p.since == units.Never {
		return p.before
	}
	return p.before + now - p.since
}

// longest bounds the expected stay of a packet, so that sums of any number of them fit 64 bits.
const longest = 100 * units.Millisecond

func newL2BM(params any, env Env) (Policy, error) {
	p := params.(*L2BMParams)
	err := firstError(
		oneOf("algorithm", p.Algorithm, "mended", "printed"), oneOf("paused_time", p.PausedTime, "ignore", "freeze"),
		positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy),
	)
	if err != nil {
		return nil, err
	}
	if p.C.Rule == "" && p.C.Time <= 0 {
		return nil, fmt.Errorf("c is %s (expected sum, mean, or a time above 0)", p.C.Time)
	}
	if p.PausedTime == "freeze" && p.Algorithm == "printed" {
		return nil, fmt.Errorf("paused_time is freeze, which algorithm printed does not support (allowed: ignore)")
	}
	pools, err := newPools(env.View, p.LossyPool, whole)
	if err != nil {
		return nil, err
	}
	n := len(env.Rates)
	b := &l2bm{
		pools: pools, alpha: newAlpha(p.Alpha), lossyAlpha: newAlpha(p.AlphaLossy), norm: p.C, printed: p.Algorithm == "printed",
		rates: env.Rates, quanta: make([][mmu.Classes]units.Bytes, n), queues: make([]stay, n*mmu.Classes), slots: make([]units.Time, 1),
	}
	copy(b.quanta, env.Quanta)
	for c := range uint8(mmu.Classes) {
		if k := env.View.Kind(c); k == mmu.Lossless || k == mmu.Lossy {
			b.classes = append(b.classes, c)
		}
	}
	floors := make([]units.Time, n*mmu.Classes)
	for i := range floors {
		mtu, port := units.Bytes(1048), i/mmu.Classes
		if port < len(env.MTUs) && env.MTUs[port] > 0 {
			mtu = env.MTUs[port]
		}
		floors[i] = 1
		if env.Rates[port] > 0 {
			floors[i] = env.Rates[port].TxTime(mtu)
		}
	}
	b.taus = newSojourns(floors)
	if p.PausedTime == "freeze" {
		b.paused = make([]pausedFor, n*mmu.Classes)
		for i := range b.paused {
			b.paused[i].since = units.Never
		}
		return &frozenL2BM{b}, nil
	}
	return b, nil
}

// frozenL2BM is l2bm with paused_time freeze. It needs the number of packets per ingress and
// egress.
type frozenL2BM struct{ *l2bm }

// NeedsPairs implements Pairs.
func (*frozenL2BM) NeedsPairs() {}

// EgressPaused implements PauseObserver. It visits all ports at the start and the end of a pause.
func (b *frozenL2BM) EgressPaused(now units.Time, port int, class uint8, on bool) {
	e := &b.paused[port*mmu.Classes+int(class)]
	if on == (e.since != units.Never) {
		return
	}
	sign := units.Time(1)
	if !on {
		sign, e.before = -1, e.until(now)
	}
	e.since = units.Never
	if on {
		e.since = now
	}
	if k := b.view.Kind(class); k != mmu.Lossless && k != mmu.Lossy {
		return
	}
	for in := range b.rates {
		if packets := b.view.Pair(in, port, class).Packets; packets > 0 {
			i := in*mmu.Classes + int(class)
			b.queues[i].settle(now)
			b.queues[i].frozen += sign * units.Time(packets)
			b.changed(now, i)
		}
	}
}

// expected returns how long a packet will stay that is the last of the given bytes in an egress
// queue.
func (b *l2bm) expected(v mmu.View, out int, class uint8, bytes units.Bytes) units.Time {
	own := b.quanta[out][class&7]
	if own > 0 { // a class without a quantum goes first and gets the whole line
		all := own
		for _, c := range b.classes {
			if c != class && v.Egress(out, c) > 0 {
				all += b.quanta[out][c]
			}
		}
		bytes = bytes * all / own
	}
	return min(longest, b.rates[out].TxTime(bytes))
}

// settle moves the reference time of a queue to now.
func (q *stay) settle(now units.Time) {
	q.rest -= (q.n - q.frozen) * (now - q.at)
	q.at = now
}

// with returns q with one more packet. Lines 3 to 10 of Algorithm 1 are correct: the packets
// already there have waited in the meantime.
func (q stay) with(now, stays units.Time) stay {
	q.settle(now)
	q.rest += stays
	q.n++
	return q
}

// tau returns the mean remaining time of a queue with packets, before its floor is applied.
// Algorithm 1 as printed ignores the time since the last change.
func (b *l2bm) tau(now units.Time, q stay) units.Time {
	if !b.printed {
		q.settle(now)
	}
	return floorDiv(q.rest, q.n)
}

func floorDiv(a, n units.Time) units.Time {
	d := a / n
	if a%n < 0 {
		d--
	}
	return d
}

// changed updates the sum over queues after a change of queue i.
func (b *l2bm) changed(now units.Time, i int) {
	q := &b.queues[i]
	switch {
	case q.n == 0:
		b.taus.drop(i)
	case b.printed:
		b.taus.set(now, i, floorDiv(q.rest, q.n), 0)
	default:
		b.taus.set(now, i, b.tau(now, *q), (q.n-q.frozen)<<slopeBits/q.n)
	}
}

// threshold returns T of an ingress queue whose mean is tau. If arrives is true, tau includes a
// packet that is not counted yet.
func (b *l2bm) threshold(now units.Time, free units.Bytes, i int, tau units.Time, arrives bool) units.Bytes {
	tau = max(tau, b.taus.queues[i].floor)
	c := b.norm.Time
	if b.norm.Rule != "" {
		sum, n := b.taus.sum(now)
		if arrives {
			if !b.taus.queues[i].counted {
				n++
			}
			sum += tau - b.taus.of(now, i)
		}
		c = sum
		if b.norm.Rule == "mean" {
			c /= units.Time(n)
		}
	}
	hi, lo := bits.Mul64(uint64(free), uint64(c))
	if hi >= uint64(tau) {
		return free
	}
	part, _ := bits.Div64(hi, lo, uint64(tau))
	return min(free, b.alpha.of(units.Bytes(min(part, 1<<42))))
}

// Fits implements Policy.
func (b *l2bm) Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree()
	if a.Bytes > free {
		return false
	}
	if a.Kind == mmu.Lossy {
		left := b.lossyFree(v)
		if a.Bytes > left || v.Egress(a.Out, a.Class)+a.Bytes > b.lossyAlpha.of(left) {
			return false
		}
	}
	i := a.In*mmu.Classes + int(a.Class)
	q := b.queues[i].with(now, b.expected(v, a.Out, a.Class, v.Egress(a.Out, a.Class)+a.Bytes))
	return v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= b.threshold(now, free, i, floorDiv(q.rest, q.n), true)
}

// LossyLevel implements Dropping.
func (b *l2bm) LossyLevel(_ units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	return v.Egress(a.Out, a.Class), b.lossyAlpha.of(b.lossyFree(v))
}

// Level implements Policy. The threshold of an empty queue is everything that is free.
func (b *l2bm) Level(now units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	i, free := port*mmu.Classes+int(class), v.SharedFree()
	q = v.In(port, class, mmu.Shared)
	if b.queues[i].n == 0 {
		return q, free
	}
	return q, b.threshold(now, free, i, b.tau(now, b.queues[i]), false)
}

// Enqueued implements Observer. The egress queue already includes the frame.
func (b *l2bm) Enqueued(now units.Time, v mmu.View, a *mmu.Arrival) {
	if a.Kind == mmu.Control {
		return
	}
	b.count(a, 1)
	i := a.In*mmu.Classes + int(a.Class)
	stays := b.expected(v, a.Out, a.Class, v.Egress(a.Out, a.Class))
	b.queues[i] = b.queues[i].with(now, stays)
	for len(b.slots) <= int(a.Slot) {
		b.slots = append(b.slots, 0)
	}
	b.slots[a.Slot] = now + stays
	if b.paused != nil {
		e := &b.paused[a.Out*mmu.Classes+int(a.Class)]
		b.slots[a.Slot] -= e.until(now)
		if e.since != units.Never {
			b.queues[i].frozen++
		}
	}
	b.changed(now, i)
}

// Dequeued implements Observer. A departing packet subtracts exactly what it added, so an empty
// queue is left with zero. As printed (lines 13 and 14), the queue instead loses the time since
// its last arrival, once.
func (b *l2bm) Dequeued(now units.Time, _ mmu.View, a *mmu.Arrival) {
	if a.Kind == mmu.Control {
		return
	}
	b.count(a, -1)
	i := a.In*mmu.Classes + int(a.Class)
	q := &b.queues[i]
	if b.printed {
		q.n--
		q.rest -= now - q.at
		b.changed(now, i)
		return
	}
	q.settle(now)
	leaves := b.slots[a.Slot]
	if b.paused != nil {
		e := &b.paused[a.Out*mmu.Classes+int(a.Class)]
		leaves += e.until(now)
		if e.since != units.Never {
			q.frozen--
		}
	}
	q.rest -= leaves - now
	q.n--
	b.changed(now, i)
}

var l2bmGauges = []registry.Export{
	{Name: "queue_bytes", Doc: "shared bytes of an ingress queue"},
	{Name: "threshold_bytes", Doc: "its threshold T"},
	{Name: "sojourn_us", Doc: "tau, the mean time until its packets leave"},
	{Name: "weight", Doc: "C / tau x alpha"},
	{Name: "queues", Doc: "ingress queues of the switch that store packets"},
}

var l2bmGaugeNames = registry.NamesOf(l2bmGauges)

// Gauges implements probe.Gauged.
func (b *l2bm) Gauges() []string { return l2bmGaugeNames }

// Measure implements probe.Gauged. Empty queues have no values.
func (b *l2bm) Measure(now units.Time, port int, class uint8, values []float64) bool {
	i := port*mmu.Classes + int(class)
	if b.queues[i].n == 0 {
		return false
	}
	q, xoff := b.Level(now, b.view, port, class)
	setGauges(values, q, xoff)
	tau := max(b.tau(now, b.queues[i]), b.taus.queues[i].floor)
	sum, n := b.taus.sum(now)
	c := b.norm.Time
	switch b.norm.Rule {
	case "sum":
		c = sum
	case "mean":
		c = sum / units.Time(n)
	}
	values[2], values[3], values[4] = float64(tau)/1e6, float64(c)/float64(tau)*float64(b.alpha.Num)/float64(b.alpha.Den), float64(n)
	return true
}
