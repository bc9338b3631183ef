package hpcc

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// Engine is an engine of the comparison.
type Engine string

// Engines. Both run in order of insertion, as ns-3 does.
const (
	Oracle Engine = "oracle"
	Fast   Engine = "fast"
)

// Tolerance is how far a run may be from its reference; a zero value demands
// nothing.
type Tolerance struct {
	Exact  float64 `yaml:"exact"`  // share of the flows that agree to the nanosecond, at least
	Within float64 `yaml:"within"` // share of the flows within 1 %, at least
	Median float64 `yaml:"median"` // of |FCT / reference - 1|, at most
	P50    float64 `yaml:"p50"`    // difference of the median slowdown, at most
	P95    float64 `yaml:"p95"`
	P99    float64 `yaml:"p99"`
	Seeds  int     `yaml:"seeds"` // runs whose medians lie in the range of the reference's random runs; without such runs: Exact is 1
}

//go:embed tolerances.yaml
var tolerancesFile []byte

// Tolerances returns the demands, by algorithm and engine: the same for every
// folder.
func Tolerances() (map[string]map[Engine]Tolerance, error) {
	var t map[string]map[Engine]Tolerance
	err := yaml.UnmarshalWithOptions(tolerancesFile, &t, yaml.Strict())
	return t, err
}

// Slowdowns are completion times over those alone, by nearest rank.
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

// Fidelity is one folder and algorithm, held against its reference.
type Fidelity struct {
	Folder    string    `json:"folder"`
	Algorithm string    `json:"algorithm"`
	Engine    Engine    `json:"engine"`
	Flows     int       `json:"flows"`   // of the reference
	Missing   int       `json:"missing"` // flows that only one side completed
	Exact     int       `json:"exact"`
	Within    int       `json:"within_1_percent"`
	Median    float64   `json:"median_difference"`
	P99       float64   `json:"p99_difference"`
	Ours      Slowdowns `json:"ours"`
	Reference Slowdowns `json:"reference"`
	Pauses    int       `json:"pauses"`
	RefPauses int       `json:"reference_pauses"`
	Low       Slowdowns `json:"reference_low,omitzero"`  // of the reference's random runs
	High      Slowdowns `json:"reference_high,omitzero"` //
	Seeds     int       `json:"seeds,omitempty"`         // of ours, whose medians are compared with that range
	Problems  []string  `json:"problems"`                // demands that are not met
}

// Compare runs the files of a folder with an algorithm and holds the result
// against the reference in it.
func Compare(ctx context.Context, folder, algorithm string, engine Engine, tol Tolerance) (*Fidelity, error) {
	dir := filepath.Join(folder, algorithm)
	in, err := Read(filepath.Join(dir, "config.txt"))
	if err != nil {
		return nil, err
	}
	ref, err := ReadFCT(filepath.Join(dir, "fct.txt"))
	if err != nil {
		return nil, err
	}
	runs, err := randomRuns(dir, ref)
	if err != nil {
		return nil, err
	}
	f := &Fidelity{Folder: filepath.Base(folder), Algorithm: algorithm, Engine: engine, Flows: len(ref), Reference: slowdowns(ref), Problems: []string{}}
	if f.RefPauses, err = pausesOf(filepath.Join(dir, "pfc.txt")); err != nil {
		return nil, err
	}
	seeds := 1
	if random := differ(runs); tol.Seeds > 0 && random {
		seeds, f.Seeds = tol.Seeds, tol.Seeds
		f.Low, f.High = span(runs)
	} else if tol.Seeds > 0 {
		tol.Exact = 1
	}
	var ours []Slowdowns
	var pauses []int
	for seed := range seeds {
		r, err := in.simulate(ctx, algorithm, engine, uint64(seed+1))
		if err != nil {
			return nil, err
		}
		done := r.Done()
		if seed == 0 {
			f.hold(done, ref)
		}
		ours, pauses = append(ours, slowdowns(done)), append(pauses, countPauses(r.Pauses()))
	}
	f.Ours, f.Pauses = medians(ours), middle(pauses)
	f.judge(tol)
	return f, nil
}

// simulate runs the files once.
func (in *Input) simulate(ctx context.Context, algorithm string, engine Engine, seed uint64) (*Run, error) {
	c, err := in.Scenario(algorithm, true)
	if err != nil {
		return nil, err
	}
	c.Seed = seed
	r, err := in.Build(c, true, scenario.BuildOptions{})
	if err != nil {
		return nil, err
	}
	if engine == Oracle {
		var e *sim.Oracle
		if e, err = sim.NewOracle(r.Spec, sim.OracleOptions{}); err == nil {
			_, err = e.Run(ctx)
		}
		return r, err
	}
	e, err := sim.NewFast(r.Spec, sim.Options{})
	if err == nil {
		_, err = e.Run(ctx)
	}
	return r, err
}

// key names a flow in a file of completion times.
func (d *Done) key() [4]int { return [4]int{d.Src, d.Dst, d.SrcPort, d.DstPort} }

// hold compares flow by flow.
func (f *Fidelity) hold(ours, ref []Done) {
	theirs := make(map[[4]int]*Done, len(ref))
	for i := range ref {
		theirs[ref[i].key()] = &ref[i]
	}
	var diffs []float64
	for i := range ours {
		o := &ours[i]
		r := theirs[o.key()]
		if r == nil || r.Size != o.Size {
			f.Missing++
			continue
		}
		delete(theirs, o.key())
		d := math.Abs(float64(o.FCT)/float64(r.FCT) - 1)
		diffs = append(diffs, d)
		if o.FCT == r.FCT {
			f.Exact++
		}
		if d <= 0.01 {
			f.Within++
		}
	}
	f.Missing += len(theirs)
	if len(diffs) > 0 {
		slices.Sort(diffs)
		f.Median, f.P99 = metrics.NearestRank(diffs, 500), metrics.NearestRank(diffs, 990)
	}
}

// judge lists the demands that are not met.
func (f *Fidelity) judge(tol Tolerance) {
	bad := func(format string, args ...any) { f.Problems = append(f.Problems, fmt.Sprintf(format, args...)) }
	if f.Missing > 0 {
		bad("%d flows are complete on one side only", f.Missing)
	}
	if f.Seeds > 0 {
		f.judgeRange(bad)
		return
	}
	n := float64(f.Flows)
	if float64(f.Exact) < tol.Exact*n {
		bad("%d of %d flows are exact; demanded: %.4g", f.Exact, f.Flows, tol.Exact*n)
	}
	if float64(f.Within) < tol.Within*n {
		bad("%d of %d flows are within 1 %%; demanded: %.4g", f.Within, f.Flows, tol.Within*n)
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
		if d.limit > 0 && d.got > d.limit {
			bad("%s differs by %.3g; demanded: at most %.3g", d.what, d.got, d.limit)
		}
	}
}

func (f *Fidelity) judgeRange(bad func(string, ...any)) {
	for _, d := range []struct {
		what           string
		got, low, high float64
	}{
		{"slowdown mean", f.Ours.Mean, f.Low.Mean, f.High.Mean}, {"slowdown p50", f.Ours.P50, f.Low.P50, f.High.P50},
		{"slowdown p95", f.Ours.P95, f.Low.P95, f.High.P95}, {"slowdown p99", f.Ours.P99, f.Low.P99, f.High.P99},
	} {
		if d.got < d.low || d.got > d.high {
			bad("%s is %.4g; the reference's runs have %.4g to %.4g", d.what, d.got, d.low, d.high)
		}
	}
}

// randomRuns reads the reference and its runs with other random numbers.
func randomRuns(dir string, ref []Done) ([][]Done, error) {
	runs := [][]Done{ref}
	names, err := filepath.Glob(filepath.Join(dir, "fct-run*.txt"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		r, err := ReadFCT(name)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// differ reports whether runs depend on their random numbers.
func differ(runs [][]Done) bool {
	for _, r := range runs[1:] {
		if !slices.Equal(r, runs[0]) {
			return true
		}
	}
	return false
}

// span is the range of the statistics of runs.
func span(runs [][]Done) (low, high Slowdowns) {
	low = Slowdowns{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}
	for _, r := range runs {
		s := slowdowns(r)
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
		return middle(v)
	}
	return Slowdowns{
		of(func(s Slowdowns) float64 { return s.Mean }), of(func(s Slowdowns) float64 { return s.P50 }),
		of(func(s Slowdowns) float64 { return s.P95 }), of(func(s Slowdowns) float64 { return s.P99 }),
	}
}

// middle is the median, of an even number of values the mean of the two in the
// middle.
func middle[T int | float64](v []T) T {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// pausesOf counts the pauses that switches and hosts sent in a trace.
func pausesOf(path string) (int, error) {
	list, err := ReadPFC(path)
	if os.IsNotExist(err) {
		return 0, nil
	}
	return countPauses(list), err
}

func countPauses(list []Pause) int {
	n := 0
	for _, p := range list {
		if p.Kind == PauseSent {
			n++
		}
	}
	return n
}

// Algorithms returns the algorithms that a reference folder has results of.
func Algorithms(folder string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*", "fct.txt"))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, n := range names {
		list = append(list, filepath.Base(filepath.Dir(n)))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no reference; allowed: a folder with topology.txt, flow.txt and ALGORITHM/{config.txt,fct.txt}", strings.TrimSuffix(folder, "/"))
	}
	return list, nil
}
