package buffer

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// ABMParams are the parameters of Active Buffer Management.
type ABMParams struct {
	Where             string      `yaml:"where" allowed:"both,egress" doc:"thresholds it sets: lossy egress and lossless ingress (both), or lossy egress with Dynamic Threshold at the ingress"`
	Alpha             units.Ratio `yaml:"alpha" doc:"of lossless ingress queues"`
	AlphaLossy        units.Ratio `yaml:"alpha_lossy" doc:"of lossy egress queues"`
	UnscheduledAlpha  units.Ratio `yaml:"unscheduled_alpha,omitempty" doc:"of frames within the first bandwidth-delay product of their flow, 1024 in the authors' program; default: as others"`
	AlphaLossyIngress units.Ratio `yaml:"alpha_lossy_ingress,omitempty" doc:"threshold of a lossy ingress queue: this times the free shared buffer; default: none"`
	LossyPool         units.Ratio `yaml:"lossy_pool" doc:"share of the shared segment that lossy queues may fill together"`
	Window            units.Time  `yaml:"window" doc:"over which drain rates are measured: one round trip"`
}

// abm is Active Buffer Management (Addanki et al., SIGCOMM 2022) in SONiC's pools, as
// Reverie section 4.1 extends it: T = alpha / n_p x (drain rate / line rate) x free pool.
// What the paper leaves open is as in the authors' program: n_p counts a queue shorter
// than 20,480 B as a part of one; the drain rate is that of the last window, and counts
// as the line rate unless the queue is that long and sent more than 2048 B. Unlike there,
// n_p follows every frame, not only those of queues whose threshold is asked for.
type abm struct {
	pools
	alpha, lossyAlpha alpha
	unscheduled       optional
	lossyIn           optional
	egressOnly        bool
	window            units.Time
	full              []units.Bytes // by port: what the line carries in a window
	in, out           congestion
	inDrain, outDrain []drain // by queue
}

// leastSent is what a queue must have sent in a window for its drain rate to count.
const leastSent units.Bytes = 2048

// drain is what a queue sent in its current window and in the one before.
type drain struct {
	end       units.Time // of the current window
	now, last units.Bytes
}

// sent counts a frame that left.
func (d *drain) sent(now, window units.Time, b units.Bytes) {
	if now >= d.end {
		d.last = d.before(now, window)
		d.end, d.now = (now/window+1)*window, 0
	}
	d.now += b
}

// before is what the queue sent in the window before that of now.
func (d *drain) before(now, window units.Time) units.Bytes {
	switch {
	case now < d.end:
		return d.last
	case now < d.end+window:
		return d.now
	}
	return 0
}

func newABM(params any, env Env) (Policy, error) {
	p := params.(*ABMParams)
	if err := first(oneOf("where", p.Where, "both", "egress"), positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy)); err != nil {
		return nil, err
	}
	if p.Window <= 0 || p.Window > units.Second {
		return nil, fmt.Errorf("window is %s; allowed: more than 0s, at most 1s", p.Window)
	}
	pools, err := newPools(env.View, p.LossyPool, units.Ratio{Num: 1, Den: 1})
	if err != nil {
		return nil, err
	}
	n := len(env.Rates)
	m := &abm{
		pools: pools, alpha: newAlpha(p.Alpha), lossyAlpha: newAlpha(p.AlphaLossy), unscheduled: newOptional(p.UnscheduledAlpha),
		lossyIn: newOptional(p.AlphaLossyIngress), egressOnly: p.Where == "egress", window: p.Window,
		in: newCongestion(n), out: newCongestion(n), inDrain: make([]drain, n*mmu.Classes), outDrain: make([]drain, n*mmu.Classes),
	}
	for _, r := range env.Rates {
		m.full = append(m.full, r.In(p.Window))
	}
	return m, nil
}

// slowed takes the part of b that a queue drains of its line.
func (m *abm) slowed(b units.Bytes, now units.Time, d *drain, port int, length units.Bytes) units.Bytes {
	last := d.before(now, m.window)
	if length <= saturated || last <= leastSent || last >= m.full[port] {
		return b
	}
	return b * last / m.full[port]
}

// xoff is the threshold of a lossless ingress queue, with so much free.
func (m *abm) xoff(now units.Time, v mmu.View, port int, class uint8, free units.Bytes, a *alpha) units.Bytes {
	if m.egressOnly {
		return m.alpha.of(free)
	}
	in := v.Ingress(port, class)
	return a.of(m.slowed(m.in.over(class, free), now, &m.inDrain[port*mmu.Classes+int(class)], port, in.Total()))
}

// dropsAt is the threshold of a lossy egress queue.
func (m *abm) dropsAt(now units.Time, v mmu.View, port int, class uint8, a *alpha) units.Bytes {
	left := m.out.over(class, m.lossyFree(v))
	return a.of(m.slowed(left, now, &m.outDrain[port*mmu.Classes+int(class)], port, v.Egress(port, class)))
}

// alphaOf returns the alpha of a frame whose queue has a usual one.
func (m *abm) alphaOf(a *mmu.Arrival, usual *alpha) *alpha {
	if a.Unscheduled && !m.unscheduled.none {
		return &m.unscheduled.alpha
	}
	return usual
}

// Fits implements Policy.
func (m *abm) Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree()
	queue := v.In(a.In, a.Class, mmu.Shared) + a.Bytes
	if a.Kind == mmu.Lossless {
		return a.Bytes <= free && queue <= m.xoff(now, v, a.In, a.Class, free, m.alphaOf(a, &m.alpha))
	}
	return a.Bytes <= min(free, m.lossyFree(v)) && m.lossyIn.within(queue, free) &&
		v.Egress(a.Out, a.Class)+a.Bytes <= m.dropsAt(now, v, a.Out, a.Class, m.alphaOf(a, &m.lossyAlpha))
}

// LossyLevel implements Dropping.
func (m *abm) LossyLevel(now units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	return v.Egress(a.Out, a.Class), m.dropsAt(now, v, a.Out, a.Class, m.alphaOf(a, &m.lossyAlpha))
}

// FitsCounted implements Counting.
func (m *abm) FitsCounted(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree() - a.Bytes
	return free >= 0 && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= m.xoff(now, v, a.In, a.Class, free, m.alphaOf(a, &m.alpha))
}

// Level implements Policy: whether a queue resumes does not depend on who sends next.
func (m *abm) Level(now units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), m.xoff(now, v, port, class, v.SharedFree(), &m.alpha)
}

// Enqueued implements Observer.
func (m *abm) Enqueued(_ units.Time, v mmu.View, a *mmu.Arrival) {
	m.count(a, 1)
	m.congested(v, a)
}

// Dequeued implements Observer.
func (m *abm) Dequeued(now units.Time, v mmu.View, a *mmu.Arrival) {
	m.count(a, -1)
	m.congested(v, a)
	switch a.Kind {
	case mmu.Lossless:
		m.inDrain[a.In*mmu.Classes+int(a.Class)].sent(now, m.window, a.Bytes)
	case mmu.Lossy:
		m.outDrain[a.Out*mmu.Classes+int(a.Class)].sent(now, m.window, a.Bytes)
	}
}

// congested counts the queue that a frame changed: a lossless one at the ingress, a
// lossy one at the egress.
func (m *abm) congested(v mmu.View, a *mmu.Arrival) {
	switch a.Kind {
	case mmu.Lossless:
		in := v.Ingress(a.In, a.Class)
		m.in.set(a.In, a.Class, in.Total())
	case mmu.Lossy:
		m.out.set(a.Out, a.Class, v.Egress(a.Out, a.Class))
	}
}

var abmGauges = []registry.Shown{
	{Name: "queue_bytes", Doc: "what a lossless ingress queue holds in the shared segment, or a lossy egress queue in all"},
	{Name: "threshold_bytes", Doc: "what it is held against: a PFC threshold or a drop threshold"},
	{Name: "pool_free_bytes", Doc: "what is left of its pool"},
	{Name: "congested_queues", Doc: "n_p: congested queues of its class, short ones as parts"},
}

var abmGaugeNames = registry.NamesOf(abmGauges)

// Gauges implements probe.Gauged.
func (m *abm) Gauges() []string { return abmGaugeNames }

// Measure implements probe.Gauged.
func (m *abm) Measure(now units.Time, port int, class uint8, values []float64) bool {
	v := m.view
	switch v.Kind(class) {
	case mmu.Lossless:
		q, xoff := m.Level(now, v, port, class)
		measured(values, q, xoff, v.SharedFree())
		values[3] = m.in.queues(class)
	case mmu.Lossy:
		measured(values, v.Egress(port, class), m.dropsAt(now, v, port, class, &m.lossyAlpha), m.lossyFree(v))
		values[3] = m.out.queues(class)
	default:
		return false
	}
	return true
}
