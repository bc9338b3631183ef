package buffer

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// ABMParams are the parameters of Active Buffer Management.
type ABMParams struct {
	Where             string      `yaml:"where" allowed:"both,egress" doc:"thresholds that ABM sets: both (lossless ingress, lossy egress), or egress (ingress then has Dynamic Threshold)"`
	Alpha             units.Ratio `yaml:"alpha" doc:"alpha of lossless ingress queues"`
	AlphaLossy        units.Ratio `yaml:"alpha_lossy" doc:"alpha of lossy egress queues"`
	UnscheduledAlpha  units.Ratio `yaml:"unscheduled_alpha,omitempty" doc:"alpha of the first frames of flows, see hosts.unscheduled (authors' code: 1024); default: same as other frames"`
	AlphaLossyIngress units.Ratio `yaml:"alpha_lossy_ingress,omitempty" doc:"threshold of a lossy ingress queue: this times the free shared buffer; default: none"`
	LossyPool         units.Ratio `yaml:"lossy_pool" doc:"share of the shared segment that all lossy queues together may fill"`
	Window            units.Time  `yaml:"window" doc:"interval over which drain rates are measured, usually one round trip"`
}

// abm is Active Buffer Management (Addanki et al., SIGCOMM 2022) in SONiC's pools, as extended by
// Reverie section 4.1: T = alpha / n_p x (drain rate / line rate) x free pool. Details that the
// paper leaves open follow the authors' code: n_p counts a queue shorter than 20,480 B as a
// fraction. The drain rate is measured over the last window. It counts as the line rate unless
// the queue is longer than 20,480 B and sent more than 2048 B. Unlike the authors' code, n_p is
// updated with every frame, not only when a queue's threshold is read.
type abm struct {
	pools
	alpha, lossyAlpha alpha
	unscheduled       optional
	lossyIn           optional
	egressOnly        bool
	window            units.Time
	full              []units.Bytes // by port: bytes that the line carries in a window
	in, out           congestion
	inDrain, outDrain []drain // by queue
}

// leastSent is the number of bytes above which a window's drain rate counts.
const leastSent units.Bytes = 2048

// drain counts the bytes that a queue sent in its current window and in the one before.
type drain struct {
	end       units.Time // end of the current window
	now, last units.Bytes
}

// sent counts a departing frame.
func (d *drain) sent(now, window units.Time, b units.Bytes) {
	if now >= d.end {
		d.last = d.before(now, window)
		d.end, d.now = (now/window+1)*window, 0
	}
	d.now += b
}

// before returns the bytes sent in the window before the one that contains now.
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
	if err := firstError(oneOf("where", p.Where, "both", "egress"), positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy)); err != nil {
		return nil, err
	}
	if p.Window <= 0 || p.Window > units.Second {
		return nil, fmt.Errorf("window is %s (expected more than 0s and at most 1s)", p.Window)
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

// slowed scales b by the queue's share of the line rate in the last window.
func (m *abm) slowed(b units.Bytes, now units.Time, d *drain, port int, length units.Bytes) units.Bytes {
	last := d.before(now, m.window)
	if length <= saturated || last <= leastSent || last >= m.full[port] {
		return b
	}
	return b * last / m.full[port]
}

// xoff returns the threshold of a lossless ingress queue, given the free bytes.
func (m *abm) xoff(now units.Time, v mmu.View, port int, class uint8, free units.Bytes, a *alpha) units.Bytes {
	if m.egressOnly {
		return m.alpha.of(free)
	}
	in := v.Ingress(port, class)
	return a.of(m.slowed(m.in.over(class, free), now, &m.inDrain[port*mmu.Classes+int(class)], port, in.Total()))
}

// dropThreshold returns the threshold of a lossy egress queue.
func (m *abm) dropThreshold(now units.Time, v mmu.View, port int, class uint8, a *alpha) units.Bytes {
	left := m.out.over(class, m.lossyFree(v))
	return a.of(m.slowed(left, now, &m.outDrain[port*mmu.Classes+int(class)], port, v.Egress(port, class)))
}

// alphaOf returns the alpha of a frame: usual, unless the frame is unscheduled.
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
		v.Egress(a.Out, a.Class)+a.Bytes <= m.dropThreshold(now, v, a.Out, a.Class, m.alphaOf(a, &m.lossyAlpha))
}

// LossyLevel implements Dropping.
func (m *abm) LossyLevel(now units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	return v.Egress(a.Out, a.Class), m.dropThreshold(now, v, a.Out, a.Class, m.alphaOf(a, &m.lossyAlpha))
}

// FitsCounted implements Counting.
func (m *abm) FitsCounted(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree() - a.Bytes
	return free >= 0 && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= m.xoff(now, v, a.In, a.Class, free, m.alphaOf(a, &m.alpha))
}

// Level implements Policy. It uses the usual alpha: a queue resumes whatever frame comes next.
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

// congested updates n_p for the queue that a frame changed: a lossless frame at the ingress, a
// lossy frame at the egress.
func (m *abm) congested(v mmu.View, a *mmu.Arrival) {
	switch a.Kind {
	case mmu.Lossless:
		in := v.Ingress(a.In, a.Class)
		m.in.set(a.In, a.Class, in.Total())
	case mmu.Lossy:
		m.out.set(a.Out, a.Class, v.Egress(a.Out, a.Class))
	}
}

var abmGauges = []registry.Export{
	{Name: "queue_bytes", Doc: "shared bytes of a lossless ingress queue, or all bytes of a lossy egress queue"},
	{Name: "threshold_bytes", Doc: "PFC threshold or drop threshold of the queue"},
	{Name: "pool_free_bytes", Doc: "free bytes of its pool"},
	{Name: "congested_queues", Doc: "n_p: congested queues of its class; short queues count as fractions"},
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
		setGauges(values, q, xoff, v.SharedFree())
		values[3] = m.in.queues(class)
	case mmu.Lossy:
		setGauges(values, v.Egress(port, class), m.dropThreshold(now, v, port, class, &m.lossyAlpha), m.lossyFree(v))
		values[3] = m.out.queues(class)
	default:
		return false
	}
	return true
}
