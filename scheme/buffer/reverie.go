package buffer

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// ReverieParams are the parameters of Reverie.
type ReverieParams struct {
	Alpha            units.Ratio `yaml:"alpha" doc:"alpha of lossless queues"`
	AlphaLossy       units.Ratio `yaml:"alpha_lossy" doc:"alpha of lossy queues"`
	Gamma            float64     `yaml:"gamma" doc:"weight of the previous value in the filtered queue length"`
	Filter           string      `yaml:"filter" allowed:"plain,departure" doc:"filter at each arrival and departure (plain), or at departures, in whole bytes, never above the queue length (departure)"`
	UnscheduledAlpha units.Ratio `yaml:"unscheduled_alpha,omitempty" doc:"alpha of the first frames of lossy flows, see hosts.unscheduled (authors' code: 1024); default: same as others"`
	UnsafeOverflow   bool        `yaml:"unsafe_overflow,omitempty" doc:"store lossless frames in a full pool while q^ is 0, as the authors' code: it can drop lossless frames"`
}

// Breaks implements Breaking.
func (p *ReverieParams) Breaks() registry.Promise {
	if p.UnsafeOverflow {
		return registry.Lossless | registry.Bounded
	}
	return 0
}

// reverie compares filtered queue lengths with thresholds in one pool (Reverie section 3.3). Each
// frame counts once: lossless frames in ingress queues, lossy frames in egress queues.
//
//	q^ = gamma q^ + (1 - gamma) q            (eq. 5; q with headroom)
//	q^ <= Gamma = alpha_p / n_p (b* - q*)    (eq. 4 and 6; without)
//
// A decision uses q^ from before the frame; by Property 1 this is a higher threshold for a
// growing queue. So a queue may exceed Gamma, and only the size of the pool bounds it. The filter
// moves only when frames come and go, so it also lags behind a queue that has emptied.
type reverie struct {
	view              mmu.View
	alpha, lossyAlpha alpha
	unscheduled       optional
	gamma, rest       float64
	departures        bool      // filter: departure
	overflow          bool      // unsafe_overflow
	in, out           []float64 // q^ by queue
	inN, outN         congestion
}

func newReverie(params any, env Env) (Policy, error) {
	p := params.(*ReverieParams)
	if err := firstError(oneOf("filter", p.Filter, "plain", "departure"), positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy)); err != nil {
		return nil, err
	}
	if !(p.Gamma > 0 && p.Gamma < 1) {
		return nil, fmt.Errorf("gamma is %v (expected more than 0 and less than 1)", p.Gamma)
	}
	n := len(env.Rates)
	return &reverie{
		view: env.View, alpha: newAlpha(p.Alpha), lossyAlpha: newAlpha(p.AlphaLossy), unscheduled: newOptional(p.UnscheduledAlpha),
		gamma: p.Gamma, rest: 1 - p.Gamma, departures: p.Filter == "departure", overflow: p.UnsafeOverflow,
		in: make([]float64, n*mmu.Classes), out: make([]float64, n*mmu.Classes), inN: newCongestion(n), outN: newCongestion(n),
	}, nil
}

// filtered returns the next q^ of a queue. Products are rounded one by one, so that all machines
// compute the same value.
func (r *reverie) filtered(hat float64, q units.Bytes) float64 {
	hat = float64(r.gamma*hat) + float64(r.rest*float64(q))
	if r.departures {
		hat = min(float64(units.Bytes(hat)), float64(q))
	}
	return hat
}

// Fits implements Policy.
func (r *reverie) Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree()
	if a.Bytes > free {
		return r.overflows(v, a)
	}
	if a.Kind == mmu.Lossless {
		return r.losslessHat(a.In, a.Class) <= r.alpha.of(r.inN.over(a.Class, free))
	}
	if q, limit := r.LossyLevel(now, v, a); q+a.Bytes <= limit {
		return true
	}
	// Dropped frames are not arrivals. Without this exception q^ of an empty queue would stay
	// high, and the queue closed, for ever.
	return v.Egress(a.Out, a.Class) == 0
}

// LossyLevel implements Dropping.
func (r *reverie) LossyLevel(_ units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	alpha := &r.lossyAlpha
	if a.Unscheduled && !r.unscheduled.none {
		alpha = &r.unscheduled.alpha
	}
	return units.Bytes(r.out[a.Out*mmu.Classes+int(a.Class)]), alpha.of(r.outN.over(a.Class, v.SharedFree()))
}

// FitsCounted implements Counting.
func (r *reverie) FitsCounted(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree() - a.Bytes
	if free < 0 {
		return r.overflows(v, a)
	}
	return r.losslessHat(a.In, a.Class) <= r.alpha.of(r.inN.over(a.Class, free))
}

// overflows reports whether a frame is stored although the pool is full. The authors' program
// compares q^ with a threshold of 0. With gamma near 1, q^ of a long queue is 0, too: the frame
// takes bytes that are reserved for the headroom of other queues, up to the size of the buffer.
func (r *reverie) overflows(v mmu.View, a *mmu.Arrival) bool {
	return r.overflow && a.Kind == mmu.Lossless && r.losslessHat(a.In, a.Class) == 0 && v.Stored()+a.Bytes <= v.Size()
}

// losslessHat returns q^ of a lossless queue in whole bytes.
func (r *reverie) losslessHat(port int, class uint8) units.Bytes {
	return units.Bytes(r.in[port*mmu.Classes+int(class)])
}

// Level implements Policy: q^ and Gamma.
func (r *reverie) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	q = r.losslessHat(port, class)
	if v != r.view { // a deadlock search: by then the filter may have fallen to the queue length
		in := v.Ingress(port, class)
		q = min(q, in.Total())
	}
	return q, r.alpha.of(r.inN.over(class, v.SharedFree()))
}

// Enqueued implements Observer. It is not called for dropped frames.
func (r *reverie) Enqueued(_ units.Time, v mmu.View, a *mmu.Arrival) {
	if !r.departures {
		r.follow(v, a)
	}
}

// Dequeued implements Observer.
func (r *reverie) Dequeued(_ units.Time, v mmu.View, a *mmu.Arrival) { r.follow(v, a) }

// follow updates the filter of the queue that a frame changed.
func (r *reverie) follow(v mmu.View, a *mmu.Arrival) {
	switch a.Kind {
	case mmu.Lossless:
		in := v.Ingress(a.In, a.Class)
		hat := &r.in[a.In*mmu.Classes+int(a.Class)]
		*hat = r.filtered(*hat, in.Total())
		r.inN.set(a.In, a.Class, units.Bytes(*hat))
	case mmu.Lossy:
		hat := &r.out[a.Out*mmu.Classes+int(a.Class)]
		*hat = r.filtered(*hat, v.Egress(a.Out, a.Class))
		r.outN.set(a.Out, a.Class, units.Bytes(*hat))
	}
}

var reverieGauges = []registry.Export{
	{Name: "queue_bytes", Doc: "length q of a lossless ingress queue, headroom included, or of a lossy egress queue"},
	{Name: "filtered_bytes", Doc: "its filtered length q^"},
	{Name: "threshold_bytes", Doc: "its threshold Gamma"},
	{Name: "congested_queues", Doc: "n_p: congested queues of its class; short queues count as fractions"},
}

var reverieGaugeNames = registry.NamesOf(reverieGauges)

// Gauges implements probe.Gauged.
func (r *reverie) Gauges() []string { return reverieGaugeNames }

// Measure implements probe.Gauged.
func (r *reverie) Measure(now units.Time, port int, class uint8, values []float64) bool {
	v, free := r.view, r.view.SharedFree()
	switch v.Kind(class) {
	case mmu.Lossless:
		in := v.Ingress(port, class)
		q, xoff := r.Level(now, v, port, class)
		setGauges(values, in.Total(), q, xoff)
		values[3] = r.inN.queues(class)
	case mmu.Lossy:
		setGauges(values, v.Egress(port, class), units.Bytes(r.out[port*mmu.Classes+int(class)]), r.lossyAlpha.of(r.outN.over(class, free)))
		values[3] = r.outN.queues(class)
	default:
		return false
	}
	return true
}
