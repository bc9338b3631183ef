package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/interop/counters"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// Options configure a calibration.
type Options struct {
	Runs     int        // most simulations
	Span     units.Time // simulated time of each; 0: from the load
	CC       string     // congestion control of hosts; empty: the better one of none and dcqcn
	Workers  int
	Matrix   string // name of the matrix file, next to the scenario
	Progress func(done, most int)
}

// Result is a calibrated scenario.
type Result struct {
	Text   []byte // YAML
	Matrix []byte // CSV
	Report Report
}

// Fit calibrates the scenario of switch configurations. If the context ends, it returns the best
// setting so far, marked as partial.
func Fit(ctx context.Context, made *convert.Imported, set *counters.Set, o Options) (*Result, error) {
	f, err := measure(made, set)
	if err != nil {
		return nil, err
	}
	suspects := f.suspects()
	s := &search{model: f, options: o, receivers: f.split(suspects), known: map[point]*result{}}
	if s.folder, err = os.MkdirTemp("", "xoff-calibrate-"); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(s.folder) }()
	csv := f.csv()
	if err := os.WriteFile(filepath.Join(s.folder, o.Matrix), csv, 0o600); err != nil {
		return nil, err
	}
	best, err := s.descend(ctx)
	if err != nil {
		return nil, err
	}
	done := &Result{Matrix: csv}
	partial := ctx.Err() != nil
	if !partial {
		// Other random numbers and twice the time, since the fit itself would match too well.
		check := best.point
		check.seed, check.span = 2, 2*best.span
		judged, err := s.simulate(ctx, &check)
		switch {
		case err == nil:
			s.done++
			judged.point = best.point
			best = judged
		case ctx.Err() != nil:
			partial = true
		default:
			return nil, err
		}
	}
	x := best.point
	x.seed, x.span = 0, 2*x.span
	done.Text = f.text(&s.receivers, &x, o.Matrix)
	rep := &done.Report
	*rep = Report{
		Matrix: o.Matrix, Window: f.window, Span: best.span, Runs: s.done, Partial: partial, Load: f.load(), Suspects: suspects, Findings: f.findings,
		Fit: Fitted{CC: x.cc, Groups: s.receivers.groups(&x), Error: math.Round(1e3*best.score) / 1e3}, Ports: f.rows(best, suspects),
	}
	for _, p := range s.receivers.slow {
		rep.Fit.Slow = append(rep.Fit.Slow, Slow{p.Host, f.slowRate(p, x.slow)})
	}
	for i := range rep.Ports {
		if len(rep.Ports[i].Findings) == 0 {
			rep.Explained++
		}
	}
	return done, nil
}

// result has the counters of a simulation.
type result struct {
	point point
	span  units.Time
	nodes []int // by port of the fabric: number of its node
	ports []*port
	*counters.Recorder
	score float64
}

// rate returns a simulated counter per second.
func (r *result) rate(port int, kind counters.Kind, class int) float64 {
	return float64(r.Total(r.nodes[port], r.ports[port].Index, kind, class)) / r.span.Seconds()
}

// search is a search for the best point.
type search struct {
	*model
	receivers
	options Options
	folder  string
	known   map[point]*result
	done    int
}

// Steps of the search: sizes of flows, rates of slow receivers as multiples of what they receive, and
// shares of bytes in bursts.
const (
	leastSize, mostSize = 4 * units.KB, 64 * units.MB
	calmSize            = 64 * units.KB
)

var (
	calmSizes  = []float64{16e3, 32e3, 64e3, 128e3, 256e3, 512e3, 1e6}
	slowSteps  = []float64{1.02, 1.2, 1.5, 2, 3, 5}
	shareSteps = []float64{0.25, 0.5, 0.75, 1}
)

// descend searches the best point: a coarse grid of bursts, then steps in single parameters, and all
// steps together that are improvements.
func (s *search) descend(ctx context.Context) (*result, error) {
	start := point{span: s.span(), seed: 1, rest: shape{1, calmSize}, share: 1}
	if len(s.slow) > 0 {
		start.slow = slowSteps[1]
	}
	best, err := s.coarse(ctx, start)
	for err == nil && s.done < s.options.Runs && ctx.Err() == nil {
		var list []point
		steps := s.steps(&best.point)
		for i := range steps {
			list = append(list, steps[i].apply(best.point))
		}
		next, _ := s.best(ctx, list, best)
		together, scores := best.point, map[int]float64{}
		for i := range steps { // a later step of a parameter replaces a worse earlier one
			r := s.known[list[i]]
			if least, tried := scores[steps[i].parameter]; r != nil && r.score < best.score && (!tried || r.score < least) {
				scores[steps[i].parameter] = r.score
				together = steps[i].apply(together)
			}
		}
		if len(scores) > 1 {
			next, _ = s.best(ctx, []point{together}, next)
		}
		if next == best {
			break
		}
		best = next
	}
	return best, err
}

// coarse simulates the grid with each congestion control and returns the best point.
func (s *search) coarse(ctx context.Context, start point) (best *result, err error) {
	ccs := []string{"none", "dcqcn"}
	if s.options.CC != "" {
		ccs = []string{s.options.CC}
	}
	for _, cc := range ccs {
		start.cc = cc
		if best, err = s.best(ctx, s.grid(start), best); err != nil {
			break
		}
	}
	return best, err
}

// span returns the simulated time of a run: about 100 MB of data.
func (s *search) span() units.Time {
	if s.options.Span > 0 {
		return s.options.Span
	}
	seconds := 100e6 * 8 / max(1, float64(s.load().Offered))
	return units.Time(min(50, max(1, math.Round(seconds*1e3)))) * units.Millisecond
}

// grid returns the first points: numbers of senders and sizes of bursts, the same of all congested
// receivers.
func (s *search) grid(start point) []point {
	senders := []int{1, 2}
	if len(s.hot) > 0 {
		n := s.sources()
		senders = slices.Compact([]int{1, max(1, n/2), n})
	}
	most := 0.0 // received by one host in a run
	for _, p := range s.hosts {
		most = max(most, s.received(p)*start.span.Seconds())
	}
	var list []point
	for _, volume := range []units.Bytes{128 * units.KB, 512 * units.KB, 2 * units.MB, 8 * units.MB} {
		if len(list) > 0 && float64(volume) > most/4 {
			continue // too few bursts to compare
		}
		for _, n := range senders {
			x := start
			for _, sh := range s.shaped(&x) {
				*sh = shape{n, rounded(float64(volume) / float64(n))}
			}
			list = append(list, x)
		}
	}
	return list
}

// shaped returns the shapes that pauses decide about: of congested receivers, or else of all.
func (s *search) shaped(x *point) []*shape {
	var list []*shape
	for i := range s.hot {
		list = append(list, &x.hot[i])
	}
	if len(list) == 0 {
		list = append(list, &x.rest)
	}
	return list
}

// sources returns the largest number of hosts that send much to a congested host.
func (s *search) sources() int {
	most := 1
	for _, p := range s.hot {
		j := slices.Index(s.hosts, p)
		for _, m := range s.matrix {
			largest, n := 0.0, 0
			for i := range m {
				largest = max(largest, m[i][j])
			}
			for i := range m {
				if m[i][j] > 0.1*largest {
					n++
				}
			}
			most = max(most, n)
		}
	}
	return min(most, 64)
}

// step sets a parameter to a neighbouring value.
type step struct {
	parameter int
	change    func(x *point)
}

func (s *step) apply(x point) point {
	s.change(&x)
	return x
}

// steps returns the steps to the neighbours of a point.
func (s *search) steps(x *point) []step {
	var list []step
	parameter := 0
	add := func(change func(y *point)) { list = append(list, step{parameter, change}) }
	walk := func(values []float64, at float64, set func(y *point, value float64)) {
		parameter++
		i := slices.Index(values, at)
		for _, k := range []int{i - 1, i + 1} {
			if i >= 0 && k >= 0 && k < len(values) {
				add(func(y *point) { set(y, values[k]) })
			}
		}
	}
	for i, sh := range s.shaped(x) {
		parameter++
		for _, to := range []shape{
			{sh.senders, sh.size / 2}, {sh.senders, sh.size * 2}, {sh.senders, sh.size * 3 / 4},
			{sh.senders * 2, sh.size / 2}, {max(1, sh.senders/2), sh.size * 2},
		} {
			to.size = min(mostSize, max(leastSize, rounded(float64(to.size))))
			if to != *sh {
				add(func(y *point) { *s.shaped(y)[i] = to })
			}
		}
	}
	walk(slowSteps, x.slow, func(y *point, value float64) { y.slow = value })
	if len(s.hot) > 0 {
		walk(shareSteps, x.share, func(y *point, value float64) { y.share = value })
		walk(calmSizes, float64(x.rest.size), func(y *point, value float64) { y.rest.size = units.Bytes(value) })
	}
	return list
}

// rounded returns a size with two digits.
func rounded(size float64) units.Bytes {
	unit := math.Pow(10, math.Floor(math.Log10(size))-1)
	return units.Bytes(math.Round(math.Round(size/unit) * unit))
}

// best simulates points that are not known yet, in parallel, and returns the one with the smallest
// score; of equal ones the first. Best is the best one before.
func (s *search) best(ctx context.Context, list []point, best *result) (*result, error) {
	list = slices.DeleteFunc(list, func(x point) bool { return s.known[x] != nil })
	if left := s.options.Runs - s.done; len(list) > left {
		list = list[:max(0, left)]
	}
	results, errs := make([]*result, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range max(1, s.options.Workers) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(list) || ctx.Err() != nil {
					return
				}
				results[i], errs[i] = s.simulate(ctx, &list[i])
				mu.Lock()
				s.done++
				if s.options.Progress != nil {
					s.options.Progress(s.done, s.options.Runs)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i, r := range results {
		if r == nil && errs[i] == nil || ctx.Err() != nil && errs[i] != nil {
			continue // interrupted
		}
		if r == nil {
			s.known[list[i]] = &result{score: math.Inf(1)}
			continue
		}
		s.known[list[i]] = r
		if best == nil || r.score < best.score {
			best = r
		}
	}
	switch {
	case best != nil:
		return best, nil // bursts that are too rare for the simulated time give no run
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, cmp.Or(errs...)
}

// simulate runs a point.
func (s *search) simulate(ctx context.Context, x *point) (*result, error) {
	name := filepath.Join(s.folder, "calibrated.yaml")
	cfg, err := scenario.Parse(name, s.text(&s.receivers, x, s.options.Matrix))
	if err != nil {
		return nil, fmt.Errorf("the calibrated scenario is invalid: %w", err)
	}
	r := &result{point: *x, span: x.span, ports: s.ports, Recorder: &counters.Recorder{Hosts: len(s.hosts)}}
	done, err := run.Scenario(ctx, cfg, run.Options{Watchers: []run.Watcher{bound{r.Recorder}}})
	switch {
	case err != nil:
		return nil, fmt.Errorf("the calibrated scenario does not run: %w", err)
	case done.Outcome.Partial:
		return nil, ctx.Err()
	}
	for _, p := range s.ports {
		r.nodes = append(r.nodes, slices.Index(done.Outcome.Nodes, p.Node))
	}
	r.score = s.score(r)
	return r, nil
}

// bound is a recorder that needs nothing of the fabric.
type bound struct{ *counters.Recorder }

// Bind implements run.Watcher.
func (bound) Bind(*fabric.Fabric) error { return nil }

// score returns how far the counters of a simulation are from the measured ones: the mean over
// pauses, marks and bytes of the relative differences by port and in total, from 0 to 1.
func (s *search) score(r *result) float64 {
	sum, n := 0.0, 0
	for _, kind := range []counters.Kind{counters.PFCSent, counters.PFCReceived, counters.Marks, counters.QueueBytes} {
		differences, both, measured, simulated, known := 0.0, 0.0, 0.0, 0.0, false
		for i, p := range s.ports {
			if kind == counters.PFCReceived && p.Host == "" {
				continue // what its peer sends
			}
			for _, c := range s.made.Classes {
				if !p.known[kind][c] {
					continue
				}
				known = true
				a, b := p.rate[kind][c]*r.span.Seconds(), r.rate(i, kind, c)*r.span.Seconds()
				differences, both = differences+math.Abs(a-b), both+a+b
				measured, simulated = measured+a, simulated+b
			}
		}
		if !known {
			continue
		}
		n++
		if both >= 2 {
			sum += 0.5*differences/both + 0.5*math.Abs(measured-simulated)/(measured+simulated)
		}
	}
	return sum / float64(max(1, n))
}
