package bench

import (
	"context"
	"slices"

	"github.com/xoff-net/xoff/sim"
)

// Result is the best of several samples. It has the smallest time per hop and the smallest
// time per calibration step, which may come from different samples: noise only ever makes
// a measurement longer, and a slow calibration would make its hops look cheap.
type Result struct {
	NsPerHop     float64 `json:"ns_per_hop"` // CPU nanoseconds per hop
	CalNs        float64 `json:"cal_ns"`     // CPU nanoseconds of one calibration step
	Points       float64 `json:"pts"`        // ns_per_hop / cal_ns: comparable between machines
	Spread       float64 `json:"spread"`     // ns_per_hop: largest over smallest, minus 1
	Hops         uint64  `json:"hops"`       // in the measured part
	AllocsPerHop float64 `json:"allocs_per_hop"`
	PeakRSS      int64   `json:"peak_rss_bytes,omitempty"` // 0 if two cases ran interleaved
	Wall         float64 `json:"wall_s"`                   // smallest wall time of the measured part
	CPU          float64 `json:"cpu_s"`
	Reps         int     `json:"reps"`
	Hosts        int     `json:"hosts,omitempty"`
	LinkDelay    string  `json:"link_delay,omitempty"`
	Workers      int     `json:"workers,omitempty"`
	WarmUp       string  `json:"warm_up,omitempty"`
	Measured     string  `json:"measured,omitempty"`
	Command      string  `json:"command,omitempty"` // command of an External
}

// Comparison is the result of a base case and of its opponent. Ratios are opponent over
// base: below 1 the opponent is faster.
type Comparison struct {
	Result
	Against     Result  `json:"against"`
	Pairs       int     `json:"pairs"`
	PointsRatio float64 `json:"pts_ratio"`         // ratio of the minima
	WallRatio   float64 `json:"wall_ratio"`        // ratio of the minima
	WallMedian  float64 `json:"wall_ratio_median"` // median of the ratios within each pair
	WallSpread  float64 `json:"wall_ratio_spread"` // ratios within each pair: largest over smallest, minus 1
}

// Runner measures one sample: a Case or an External.
type Runner interface {
	Sample(ctx context.Context) (Sample, error)
	describe(r *Result)
}

// Sample implements Runner.
func (c Case) Sample(ctx context.Context) (Sample, error) { return Measure(ctx, c) }

func (c Case) describe(r *Result) {
	r.Hosts, r.LinkDelay, r.Workers = c.Hosts, c.LinkDelay.String(), c.Workers
	r.WarmUp, r.Measured = c.WarmUp.String(), c.Measured.String()
}

// Run takes reps samples and returns the best. It calls progress after each sample, so that
// drawing does not disturb a measurement.
func Run(ctx context.Context, r Runner, reps int, progress func()) (*Result, error) {
	var samples []Sample
	for range reps {
		s, err := r.Sample(ctx)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
		progress()
	}
	result := best(r, samples)
	return &result, nil
}

// Compare takes samples of base and against in pairs, so that noise of the machine affects
// both. The first of a pair alternates. It calls progress after each pair.
func Compare(ctx context.Context, base, against Runner, pairs int, progress func()) (*Comparison, error) {
	runners := [2]Runner{base, against}
	var samples [2][]Sample
	for p := range pairs {
		first := p % 2
		pair, err := samplePair(ctx, runners[first], runners[1-first])
		if err != nil {
			return nil, err
		}
		for k, s := range pair {
			i := (first + k) % 2
			samples[i] = append(samples[i], s)
		}
		progress()
	}
	c := &Comparison{Result: best(base, samples[0]), Against: best(against, samples[1]), Pairs: pairs}
	c.PointsRatio = c.Against.Points / c.Points
	if c.Wall == 0 || c.Against.Wall == 0 {
		return c, nil // an external command need not print its wall time
	}
	c.WallRatio = c.Against.Wall / c.Wall
	var ratios []float64
	for p := range pairs {
		ratios = append(ratios, samples[1][p].Wall/samples[0][p].Wall)
	}
	slices.Sort(ratios)
	c.WallMedian = ratios[len(ratios)/2]
	c.WallSpread = ratios[len(ratios)-1]/ratios[0] - 1
	return c, nil
}

// turn is the simulated time of the first case in one part, about 25 ms of CPU; see
// measureInterleaved.
const turn = sim.CheckPeriod

// samplePair takes one sample of a and one of b: two cases are interleaved, a command and
// anything else run one after the other.
func samplePair(ctx context.Context, a, b Runner) ([]Sample, error) {
	one, ok1 := a.(Case)
	two, ok2 := b.(Case)
	if ok1 && ok2 {
		return measureInterleaved(ctx, []Case{one, two}, max(1, int(one.Measured/turn)))
	}
	first, err := a.Sample(ctx)
	if err != nil {
		return nil, err
	}
	second, err := b.Sample(ctx)
	return []Sample{first, second}, err
}

// best reduces samples to a result.
func best(r Runner, samples []Sample) Result {
	low, high := samples[0], samples[0].NsPerHop
	cal, wall, rss := low.Cal, low.Wall, low.PeakRSS
	for _, s := range samples[1:] {
		high = max(high, s.NsPerHop)
		cal, wall, rss = min(cal, s.Cal), min(wall, s.Wall), max(rss, s.PeakRSS)
		if s.NsPerHop < low.NsPerHop {
			low = s
		}
	}
	result := Result{
		NsPerHop: low.NsPerHop, CalNs: cal, Points: low.NsPerHop / cal, Spread: high/low.NsPerHop - 1, Hops: low.Hops,
		AllocsPerHop: low.Allocs, PeakRSS: rss, Wall: wall, CPU: low.CPU, Reps: len(samples),
	}
	r.describe(&result)
	return result
}
