package buffer

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// SONiCParams are the parameters of the buffer model of SONiC. Complete sharing are
// alphas far above one with pools of 1; a static partition are pools that add up to 1.
type SONiCParams struct {
	Alpha             units.Ratio `yaml:"alpha" doc:"threshold of a lossless ingress queue: this times what is left for lossless queues"`
	AlphaLossy        units.Ratio `yaml:"alpha_lossy" doc:"threshold of a lossy egress queue: this times what is left of the lossy pool"`
	AlphaLossyIngress units.Ratio `yaml:"alpha_lossy_ingress,omitempty" doc:"threshold of a lossy ingress queue: this times the free shared buffer; default: none"`
	LossyPool         units.Ratio `yaml:"lossy_pool" doc:"share of the shared segment that lossy queues may fill together"`
	LosslessPool      units.Ratio `yaml:"lossless_pool" doc:"the same of lossless queues, outside of their headroom"`
}

// sonic is the buffer model of SONiC with Dynamic Threshold (Reverie section 2.2, eq. 1).
// The ingress pool is the shared segment; egress queues of lossy classes have a pool within
// it, those of lossless classes no limit (heuristics 1 to 3). Headroom and the rule for
// resuming are those of flow control sonic.
type sonic struct {
	pools
	alpha, lossyAlpha alpha
	lossyIn           optional
}

func newSONiC(params any, env Env) (Policy, error) {
	p := params.(*SONiCParams)
	if err := first(positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy)); err != nil {
		return nil, err
	}
	pools, err := newPools(env.View, p.LossyPool, p.LosslessPool)
	if err != nil {
		return nil, err
	}
	return &sonic{pools: pools, alpha: newAlpha(p.Alpha), lossyAlpha: newAlpha(p.AlphaLossy), lossyIn: newOptional(p.AlphaLossyIngress)}, nil
}

// Fits implements Policy.
func (s *sonic) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree()
	if a.Kind == mmu.Lossless {
		left := s.losslessFree(v, free)
		return a.Bytes <= left && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= s.alpha.of(left)
	}
	left := s.lossyFree(v)
	return a.Bytes <= min(free, left) && v.Egress(a.Out, a.Class)+a.Bytes <= s.lossyAlpha.of(left) &&
		s.lossyIn.within(v.In(a.In, a.Class, mmu.Shared)+a.Bytes, free)
}

// LossyLevel implements Dropping.
func (s *sonic) LossyLevel(_ units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	return v.Egress(a.Out, a.Class), s.lossyAlpha.of(s.lossyFree(v))
}

// FitsCounted implements Counting.
func (s *sonic) FitsCounted(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	left := s.losslessFree(v, v.SharedFree()) - a.Bytes
	return left >= 0 && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= s.alpha.of(left)
}

// Level implements Policy.
func (s *sonic) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), s.alpha.of(s.losslessFree(v, v.SharedFree()))
}

// Enqueued implements Observer.
func (s *sonic) Enqueued(_ units.Time, _ mmu.View, a *mmu.Arrival) { s.count(a, 1) }

// Dequeued implements Observer.
func (s *sonic) Dequeued(_ units.Time, _ mmu.View, a *mmu.Arrival) { s.count(a, -1) }

var sonicGauges = []registry.Shown{
	{Name: "queue_bytes", Doc: "what a lossless ingress queue holds in the shared segment, or a lossy egress queue in all"},
	{Name: "threshold_bytes", Doc: "what it is held against: a PFC threshold or a drop threshold"},
	{Name: "pool_free_bytes", Doc: "what is left of its pool"},
}

var sonicGaugeNames = registry.NamesOf(sonicGauges)

// Gauges implements probe.Gauged.
func (s *sonic) Gauges() []string { return sonicGaugeNames }

// Measure implements probe.Gauged.
func (s *sonic) Measure(now units.Time, port int, class uint8, values []float64) bool {
	v := s.view
	switch v.Kind(class) {
	case mmu.Lossless:
		q, xoff := s.Level(now, v, port, class)
		measured(values, q, xoff, s.losslessFree(v, v.SharedFree()))
	case mmu.Lossy:
		left := s.lossyFree(v)
		measured(values, v.Egress(port, class), s.lossyAlpha.of(left), left)
	default:
		return false
	}
	return true
}
