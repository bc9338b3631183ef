package buffer

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// SONiCParams are the parameters of SONiC's buffer model. Alphas far above 1 with pools of 1 give
// complete sharing; pools that add up to 1 give a static partition.
type SONiCParams struct {
	Alpha             units.Ratio `yaml:"alpha" doc:"threshold of a lossless ingress queue: this times the free bytes of the lossless pool"`
	AlphaLossy        units.Ratio `yaml:"alpha_lossy" doc:"threshold of a lossy egress queue: this times the free bytes of the lossy pool"`
	AlphaLossyIngress units.Ratio `yaml:"alpha_lossy_ingress,omitempty" doc:"threshold of a lossy ingress queue: this times the free shared buffer; default: none"`
	LossyPool         units.Ratio `yaml:"lossy_pool" doc:"share of the shared segment that all lossy queues together may fill"`
	LosslessPool      units.Ratio `yaml:"lossless_pool" doc:"share of the shared segment that all lossless queues together may fill, besides their headroom"`
}

// sonic is the buffer model of SONiC with Dynamic Threshold (Reverie section 2.2, eq. 1). The
// ingress pool is the shared segment. Egress queues of lossy classes have a pool within it;
// egress queues of lossless classes have no limit (heuristics 1 to 3). Flow control sonic
// provides the headroom and the rule for resuming.
type sonic struct {
	pools
	alpha, lossyAlpha alpha
	lossyIn           optional
}

func newSONiC(params any, env Env) (Policy, error) {
	p := params.(*SONiCParams)
	if err := firstError(positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy)); err != nil {
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

var sonicGauges = []registry.Export{
	{Name: "queue_bytes", Doc: "shared bytes of a lossless ingress queue, or all bytes of a lossy egress queue"},
	{Name: "threshold_bytes", Doc: "PFC threshold or drop threshold of the queue"},
	{Name: "pool_free_bytes", Doc: "free bytes of its pool"},
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
		setGauges(values, q, xoff, s.losslessFree(v, v.SharedFree()))
	case mmu.Lossy:
		left := s.lossyFree(v)
		setGauges(values, v.Egress(port, class), s.lossyAlpha.of(left), left)
	default:
		return false
	}
	return true
}
