package publicsim

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

// Tolerance is the allowed difference between a run and its reference. Zero fields are not
// checked.
type Tolerance struct {
	Exact  float64 `yaml:"exact"`  // smallest share of flows that agree to the nanosecond
	Within float64 `yaml:"within"` // smallest share of flows within 1 %
	Median float64 `yaml:"median"` // largest median of |FCT / reference - 1|
	P50    float64 `yaml:"p50"`    // largest relative difference of the median slowdown
	P95    float64 `yaml:"p95"`
	P99    float64 `yaml:"p99"`
	// Seeds is the number of runs whose medians must lie in the range of the reference's
	// random runs. If nothing is random, all flows must be exact instead.
	Seeds int `yaml:"seeds"`
}

//go:embed tolerances.yaml
var tolerancesFile []byte

// Tolerances returns the tolerances by algorithm and engine. They apply to every folder.
func Tolerances() (map[string]map[run.Engine]Tolerance, error) {
	var t map[string]map[run.Engine]Tolerance
	err := yaml.UnmarshalWithOptions(tolerancesFile, &t, yaml.Strict())
	return t, err
}

// Slowdowns are statistics of FCT over standalone FCT; percentiles are by nearest rank.
type Slowdowns struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
}

func slowdowns(flows []Done) Slowdowns {
	v := make([]float64, len(flows))
	sum := 0.0
	for i := range flows {
		v[i] = float64(flows[i].FCT) / float64(flows[i].Alone)
		sum += v[i]
	}
	if len(v) == 0 {
		return Slowdowns{}
	}
	slices.Sort(v)
	return Slowdowns{sum / float64(len(v)), metrics.NearestRank(v, 500), metrics.NearestRank(v, 950), metrics.NearestRank(v, 990)}
}

// Fidelity is the comparison of one case on one engine with its reference.
type Fidelity struct {
	Folder    string     `json:"folder"`
	Algorithm string     `json:"algorithm"`
	Engine    run.Engine `json:"engine"`
	Flows     int        `json:"flows"`   // in the reference
	Missing   int        `json:"missing"` // flows that only one of the two completed
	Exact     int        `json:"exact"`
	Within    int        `json:"within_1_percent"`
	Median    float64    `json:"median_difference"`
	P99       float64    `json:"p99_difference"`
	Ours      Slowdowns  `json:"ours"` // medians over seeds, if there are several
	Reference Slowdowns  `json:"reference"`
	Pauses    int        `json:"pauses"`
	RefPauses *int       `json:"reference_pauses,omitempty"` // nil: unknown
	Seeds     int        `json:"seeds,omitempty"`            // number of our seeds, if results depend on random numbers
	// Low and High are the range of the reference's random runs or, if it has only one
	// run, of our seeds.
	Low       Slowdowns `json:"low,omitzero"`
	High      Slowdowns `json:"high,omitzero"`
	OneRun    bool      `json:"one_run,omitempty"` // Low and High are from our seeds
	PauseLow  *int      `json:"pauses_low,omitempty"`
	PauseHigh *int      `json:"pauses_high,omitempty"`
	OneTrace  bool      `json:"one_trace,omitempty"` // PauseLow and PauseHigh are from our seeds
	Demands   bool      `json:"demands"`             // there is a tolerance for this algorithm
	Problems  []string  `json:"problems"`            // tolerances that are exceeded
}

// Compare runs a case on an engine and compares the results with its reference.
func (c *Case) Compare(ctx context.Context, engine run.Engine, tol Tolerance) (*Fidelity, error) {
	ref := c.Ref
	f := &Fidelity{
		Folder: c.Folder, Algorithm: c.Algorithm, Engine: engine, Flows: len(ref.Done), Reference: slowdowns(ref.Done),
		Demands: tol != Tolerance{}, Problems: []string{},
	}
	if ref.Pauses.Given {
		f.RefPauses = &ref.Pauses.Value
	}
	first, err := c.run(ctx, engine, 1)
	if err != nil {
		return nil, err
	}
	f.compareFlows(first.done, ref.Done)
	runs := []*sample{first}
	if tol.Seeds > 0 && (ref.Random || ref.Runs == 1) {
		if runs, err = c.seeds(ctx, engine, tol.Seeds, first); err != nil {
			return nil, err
		}
	}
	var ours []Slowdowns
	var pauses []int
	f.Missing += ref.Unmatched
	for i, r := range runs {
		if i > 0 {
			f.Missing += unmatched(r.done, ref.Done)
		}
		ours, pauses = append(ours, r.slowdowns(ref.Done)), append(pauses, r.pauses)
	}
	if len(runs) > 1 {
		f.Seeds = len(runs)
	}
	if f.Seeds > 0 {
		f.Low, f.High, f.OneRun = ref.Low, ref.High, !ref.Random
		if f.OneRun {
			f.Low, f.High = rangeOf(ours)
		}
		span := ref.Range.Value
		if f.OneTrace = !ref.Range.Given; f.OneTrace {
			span.Low, span.High = slices.Min(pauses), slices.Max(pauses)
		}
		f.PauseLow, f.PauseHigh = &span.Low, &span.High
	}
	f.Ours, f.Pauses = medians(ours), median(pauses)
	f.judge(tol)
	return f, nil
}

// sample has the compared results of one run.
type sample struct {
	done   []Done
	pauses int
}

func (c *Case) run(ctx context.Context, engine run.Engine, seed uint64) (*sample, error) {
	r, err := c.In.simulate(ctx, c.Algorithm, engine, seed)
	if err != nil {
		return nil, err
	}
	return &sample{r.Done(), countPauses(r.Pauses())}, nil
}

// enoughSeeds is the number of equal runs with different seeds after which seeds are
// assumed not to matter.
const enoughSeeds = 3

// seeds adds runs with other seeds. It returns only the first run if seeds do not matter.
func (c *Case) seeds(ctx context.Context, engine run.Engine, count int, first *sample) ([]*sample, error) {
	runs := []*sample{first}
	differ := c.Ref.Random
	for seed := 2; seed <= count; seed++ {
		r, err := c.run(ctx, engine, uint64(seed))
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
		if differ = differ || !slices.Equal(r.done, first.done); !differ && seed >= enoughSeeds {
			return runs[:1], nil
		}
	}
	return runs, nil
}

// slowdowns returns the slowdowns relative to the reference's standalone FCTs.
func (r *sample) slowdowns(ref []Done) Slowdowns {
	alone := make(map[[4]int]*Done, len(ref))
	for i := range ref {
		alone[ref[i].key()] = &ref[i]
	}
	list := slices.Clone(r.done)
	for i := range list {
		if d := alone[list[i].key()]; d != nil {
			list[i].Alone = d.Alone
		}
	}
	return slowdowns(list)
}

// simulate runs the input once.
func (in *Input) simulate(ctx context.Context, algorithm string, engine run.Engine, seed uint64) (*Run, error) {
	c, err := in.Scenario(algorithm, true)
	if err != nil {
		return nil, err
	}
	c.Seed = seed
	o := run.Options{Engine: engine}
	r, err := in.Build(c, &o)
	if err != nil {
		return nil, err
	}
	ready, err := run.Prepare(r.Fabric, o)
	if err == nil {
		_, err = ready.Start(ctx)
	}
	if err == nil {
		err = ctx.Err() // partial results of an interrupted run are not compared
	}
	return r, err
}

// key identifies a flow in a file of completion times.
func (d *Done) key() [4]int { return [4]int{d.Src, d.Dst, d.SrcPort, d.DstPort} }

// match calls each for every flow that both completed: same ends, ports and size, and a
// start that differs by less than 1 ns, as the reference may be rounded. It returns the
// number of flows that only one of the two completed.
func match(ours, ref []Done, each func(our, ref *Done)) int {
	theirs := make(map[[4]int]*Done, len(ref))
	for i := range ref {
		theirs[ref[i].key()] = &ref[i]
	}
	missing := 0
	for i := range ours {
		o := &ours[i]
		r := theirs[o.key()]
		if r == nil || r.Size != o.Size || max(r.Start-o.Start, o.Start-r.Start) >= units.Nanosecond {
			missing++
			continue
		}
		delete(theirs, o.key())
		each(o, r)
	}
	return missing + len(theirs)
}

// unmatched counts the flows that only one of two runs completed.
func unmatched(a, b []Done) int { return match(a, b, func(*Done, *Done) {}) }

// countExact counts the flows that agree to the nanosecond.
func countExact(a, b []Done) int {
	n := 0
	match(a, b, func(a, b *Done) {
		if a.FCT == b.FCT {
			n++
		}
	})
	return n
}

// compareFlows compares runs flow by flow.
func (f *Fidelity) compareFlows(ours, ref []Done) {
	f.Exact = countExact(ours, ref)
	var diffs []float64
	f.Missing = match(ours, ref, func(o, r *Done) {
		d := math.Abs(float64(o.FCT)/float64(r.FCT) - 1)
		diffs = append(diffs, d)
		if d <= 0.01 {
			f.Within++
		}
	})
	if len(diffs) > 0 {
		slices.Sort(diffs)
		f.Median, f.P99 = metrics.NearestRank(diffs, 500), metrics.NearestRank(diffs, 990)
	}
}

// judge lists the tolerances that are exceeded.
func (f *Fidelity) judge(tol Tolerance) {
	bad := func(format string, args ...any) { f.Problems = append(f.Problems, fmt.Sprintf(format, args...)) }
	if f.Missing > 0 {
		bad("%d flows completed in only one of the two simulators", f.Missing)
	}
	if f.Seeds > 0 {
		if f.OneRun {
			f.judgeOne(bad, tol)
		} else {
			f.judgeRange(bad)
		}
		f.judgePauses(bad)
		return
	}
	if tol.Seeds > 0 { // nothing is random here
		tol.Exact = 1
	}
	n := float64(f.Flows)
	if float64(f.Exact) < tol.Exact*n {
		bad("%d of %d flows are exact (expected at least %.4g)", f.Exact, f.Flows, tol.Exact*n)
	}
	if float64(f.Within) < tol.Within*n {
		bad("%d of %d flows are within 1 %% (expected at least %.4g)", f.Within, f.Flows, tol.Within*n)
	}
	if tol.Exact == 1 && f.RefPauses != nil && f.Pauses != *f.RefPauses {
		bad("%d pauses (expected %d, as in the reference)", f.Pauses, *f.RefPauses)
	}
	for _, d := range []struct {
		what       string
		got, limit float64
	}{
		{"median difference", f.Median, tol.Median},
		{"slowdown p50", math.Abs(f.Ours.P50/f.Reference.P50 - 1), tol.P50},
		{"slowdown p95", math.Abs(f.Ours.P95/f.Reference.P95 - 1), tol.P95},
		{"slowdown p99", math.Abs(f.Ours.P99/f.Reference.P99 - 1), tol.P99},
	} {
		if d.limit > 0 && !(d.got <= d.limit) {
			bad("%s differs by %.3g (expected at most %.3g)", d.what, d.got, d.limit)
		}
	}
}

// judgeRange checks that medians over our seeds lie in the range of the reference's runs.
func (f *Fidelity) judgeRange(bad func(string, ...any)) {
	for _, d := range []struct {
		what           string
		got, low, high float64
	}{
		{"slowdown mean", f.Ours.Mean, f.Low.Mean, f.High.Mean}, {"slowdown p50", f.Ours.P50, f.Low.P50, f.High.P50},
		{"slowdown p95", f.Ours.P95, f.Low.P95, f.High.P95}, {"slowdown p99", f.Ours.P99, f.Low.P99, f.High.P99},
	} {
		if !(d.got >= d.low && d.got <= d.high) {
			bad("%s is %.4g (expected %.4g to %.4g, the range of the reference's runs)", d.what, d.got, d.low, d.high)
		}
	}
}

// judgeOne checks that the reference's only run could be one of ours: it must lie in the
// range of our seeds. The range is widened by a tolerance, and by its own width on both
// sides, because one of eleven similar runs is often the smallest or largest.
func (f *Fidelity) judgeOne(bad func(string, ...any), tol Tolerance) {
	for _, d := range []struct {
		what                 string
		got, low, high, more float64
	}{
		{"slowdown mean", f.Reference.Mean, f.Low.Mean, f.High.Mean, tol.P95}, {"slowdown p50", f.Reference.P50, f.Low.P50, f.High.P50, tol.P50},
		{"slowdown p95", f.Reference.P95, f.Low.P95, f.High.P95, tol.P95}, {"slowdown p99", f.Reference.P99, f.Low.P99, f.High.P99, tol.P99},
	} {
		width := d.high - d.low
		if low, high := (d.low-width)*(1-d.more), (d.high+width)*(1+d.more); !(d.got >= low && d.got <= high) {
			bad("%s of the reference is %.4g (expected %.4g to %.4g from our seeds)", d.what, d.got, low, high)
		}
	}
}

// judgePauses checks the number of pauses like judgeRange or judgeOne.
func (f *Fidelity) judgePauses(bad func(string, ...any)) {
	low, high := *f.PauseLow, *f.PauseHigh
	if !f.OneTrace {
		if f.Pauses < low || f.Pauses > high {
			bad("%d pauses (expected %d to %d, the range of the reference's runs)", f.Pauses, low, high)
		}
		return
	}
	width := high - low + 1
	low, high = low-width, high+width
	if f.RefPauses != nil && (*f.RefPauses < low || *f.RefPauses > high) {
		bad("the reference has %d pauses (expected %d to %d from our seeds)", *f.RefPauses, max(0, low), high)
	}
}

// rangeOf returns the smallest and largest value of each statistic.
func rangeOf(list []Slowdowns) (low, high Slowdowns) {
	low, high = list[0], list[0]
	for _, s := range list {
		low = Slowdowns{min(low.Mean, s.Mean), min(low.P50, s.P50), min(low.P95, s.P95), min(low.P99, s.P99)}
		high = Slowdowns{max(high.Mean, s.Mean), max(high.P50, s.P50), max(high.P95, s.P95), max(high.P99, s.P99)}
	}
	return low, high
}

func medians(list []Slowdowns) Slowdowns {
	of := func(get func(Slowdowns) float64) float64 {
		var v []float64
		for _, s := range list {
			v = append(v, get(s))
		}
		return median(v)
	}
	return Slowdowns{
		of(func(s Slowdowns) float64 { return s.Mean }), of(func(s Slowdowns) float64 { return s.P50 }),
		of(func(s Slowdowns) float64 { return s.P95 }), of(func(s Slowdowns) float64 { return s.P99 }),
	}
}

// median returns the median; for an even number of values, the mean of the middle two. It
// sorts v.
func median[T int | float64](v []T) T {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// countPauses counts the PAUSE frames that nodes sent.
func countPauses(list []Pause) int {
	n := 0
	for _, p := range list {
		if p.Kind == PauseSent {
			n++
		}
	}
	return n
}
