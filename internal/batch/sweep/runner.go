package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// Job is a point that is being computed.
type Job struct {
	Point   *Point
	Workers int    // goroutines it may use
	Folder  string // existing empty folder for the results
	Check   bool   // verify that the scenario has the hash of the point's key
	// Report takes the finished share, from 0 to 1, and the number of simulated hops.
	Report func(share float64, hops uint64)
	// Seconds is set by Run if it knows the core seconds better than the local clock.
	Seconds float64
}

// Runner runs the points of a grid and stores their results.
type Runner struct {
	Store   Store
	Workers int
	Limit   time.Duration // time limit of a point; 0: none
	Timed   bool          // store the core seconds of points; results then differ from run to run
	// Build builds a point. Its errors are mistakes in the input.
	Build func(fabric.Plan) (*fabric.Fabric, error)
	// Run simulates a point and writes its results. An error other than a
	// run.WriteError or the context's means that this point has no results.
	Run func(context.Context, *Job) (run.Verdict, error)
	// Progress is called after every change, by one goroutine at a time. It may be nil.
	Progress func(Progress)

	kept atomic.Int32 // number of points that keep their plan
}

func (p *Point) cost() float64 {
	if p.Cost > 0 {
		return p.Cost
	}
	return 1
}

// LimitError means that a point was stopped at a time limit.
type LimitError struct {
	Limit  time.Duration
	Worker bool // the limit of a worker, not of the sweep
}

func (l *LimitError) Error() string {
	whose := "the sweep"
	if l.Worker {
		whose = "this worker"
	}
	return fmt.Sprintf("the point takes longer than the time limit of %s: stopped after %s; fix: raise --point-limit", whose, l.Limit)
}

// WithLimit returns a context that ends after the limit, with l as its cause. A limit of 0
// means none.
func WithLimit(ctx context.Context, l *LimitError) (context.Context, context.CancelFunc) {
	if l.Limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, l.Limit, l)
}

// Progress is the progress of a sweep.
type Progress struct {
	Preparing           bool    // points are being built and checked; Done counts these
	Done, Total, Reused int     // points; Done includes Reused
	Share               float64 // finished share of the work without reused points, from 0 to 1
	Hops                uint64  // hops simulated so far, without reused points
}

// Prepare builds every point once, so that mistakes in values show before anything runs,
// and sets its key and folder. Every metric in chosen must exist in at least one point.
func (r *Runner) Prepare(ctx context.Context, g *Grid, options string, chosen []string) ([]*Point, error) {
	points, err := g.Points()
	if err != nil {
		return nil, err
	}
	names, err := r.Ready(ctx, points, options)
	if err != nil {
		return nil, err
	}
	if _, err := metrics.FullNames(chosen, names); err != nil {
		return nil, err
	}
	assign(g.Axes, points)
	for _, p := range points {
		p.Cost = p.frames
	}
	return points, nil
}

// Ready builds points and sets their keys, but not their folders. It returns the names of
// the metrics that their results will have.
func (r *Runner) Ready(ctx context.Context, points []*Point, options string) ([]string, error) {
	names, errs, err := r.ready(ctx, points, options)
	if err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err != nil {
			return nil, points[i].locate(err)
		}
	}
	return names, nil
}

// Add prepares points that are not part of a grid, like Prepare. It also returns an error for
// each point that cannot run.
func (r *Runner) Add(ctx context.Context, axes []Axis, points []*Point, options string) (names []string, errs []error, err error) {
	if names, errs, err = r.ready(ctx, points, options); err != nil {
		return nil, nil, err
	}
	var valid []*Point
	for i, p := range points {
		if errs[i] != nil {
			errs[i] = p.locate(errs[i])
			continue
		}
		p.Cost = p.frames
		valid = append(valid, p)
	}
	assign(axes, valid)
	return names, errs, nil
}

// ready builds points, sets their keys and returns an error per point.
func (r *Runner) ready(ctx context.Context, points []*Point, options string) ([]string, []error, error) {
	program, err := Executable()
	if err != nil {
		return nil, nil, err
	}
	errs := make([]error, len(points))
	names := make([][]string, len(points))
	var lock sync.Mutex
	var shared [][]string // one copy of equal lists: names take more memory than a point
	state := Progress{Preparing: true, Total: len(points)}
	r.each(len(points), func(i int) {
		if ctx.Err() != nil {
			return
		}
		list, err := r.prepare(points[i], program, options)
		lock.Lock()
		defer lock.Unlock()
		names[i], errs[i] = share(&shared, list), err
		if state.Done++; r.Progress != nil {
			r.Progress(state)
		}
	})
	return union(names), errs, ctx.Err()
}

// locate adds the point to an error of its build.
func (p *Point) locate(err error) error {
	var in *scenario.InputError
	if p.Blame != nil && errors.As(err, &in) {
		return p.Blame(err)
	}
	return fmt.Errorf("%w (at %s)", err, p.Label)
}

// prepare builds a point and returns the names of its metrics.
func (r *Runner) prepare(p *Point, program, options string) ([]string, error) {
	built, err := r.BuildPoint(p)
	if err != nil {
		return nil, err
	}
	p.expect, p.frames = built.Expect, frames(built)
	hash, err := hashScenario(built)
	p.Key = Key{Scenario: hash, Executable: program, Options: options}
	return built.MetricNames(), err
}

// keptPlans is the number of points that keep their plan until they run. The plan of a
// large fabric takes several megabytes.
const keptPlans = 16

// BuildPoint builds a point for inspection. The first keptPlans points keep their plan for
// the run.
func (r *Runner) BuildPoint(p *Point) (*fabric.Fabric, error) {
	plan, err := p.layOut()
	if err != nil {
		return nil, err
	}
	if p.plan == nil && r.kept.Add(1) <= keptPlans {
		p.plan = &plan
	}
	built, err := r.Build(plan)
	if err != nil {
		return nil, p.Config.Locate(err)
	}
	return built, nil
}

// layOut returns the plan that was kept, or a new one.
func (p *Point) layOut() (fabric.Plan, error) {
	if p.plan != nil {
		return *p.plan, nil
	}
	return fabric.NewPlan(p.Config)
}

// frames estimates the number of frames of a run, one per 1000 B of its flows. Most of the
// run time is spent on frames.
func frames(b *fabric.Fabric) float64 {
	n := int64(0)
	for i := range b.Flows.Flow {
		n += (int64(b.Flows.Flow[i].Size) + 999) / 1000
	}
	return float64(n)
}

// share returns an equal list from lists, or adds list to them.
func share(lists *[][]string, list []string) []string {
	if i := slices.IndexFunc(*lists, func(l []string) bool { return slices.Equal(l, list) }); i >= 0 {
		return (*lists)[i]
	}
	*lists = append(*lists, list)
	return list
}

// union returns all different strings in the order of their first appearance.
func union(lists [][]string) []string {
	var all []string
	seen := make(map[string]bool)
	for _, list := range lists {
		for _, s := range list {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// each calls f with 0 to n-1 in r.Workers goroutines.
func (r *Runner) each(n int, f func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(r.Workers, n) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// Sweep runs the points that have no results yet and returns one row per point, in order.
// When the context ends, running points are discarded; finished points stay in the store.
// The rows do not depend on the order in which points finish.
func (r *Runner) Sweep(ctx context.Context, points []*Point) ([]Row, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &schedule{r: r, rows: make([]Row, len(points)), free: r.Workers, shares: make(map[*Point]report),
		done: make(chan struct{}, len(points))}
	s.state.Total = len(points)
	var open []*Point
	for _, p := range points {
		if row, ok := r.Store.load(p); ok && !row.Verdict.Aborted {
			s.keep(row)
			s.state.Reused++
		} else {
			open = append(open, p)
			s.work += p.cost()
		}
	}
	s.notify()
	running := 0
	for ctx.Err() == nil && (len(open) > 0 || running > 0) {
		for len(open) > 0 && s.free > 0 && ctx.Err() == nil {
			// Few points share all workers; with many, each takes one.
			share := max(1, s.free/len(open))
			s.free -= share
			running++
			go s.run(ctx, open[0], share, stop)
			open = open[1:]
		}
		<-s.done
		running--
		s.mu.Lock()
		s.free += s.returned
		s.returned = 0
		s.mu.Unlock()
	}
	for ; running > 0; running-- {
		<-s.done
	}
	return s.rows, context.Cause(ctx)
}

// schedule is a sweep in progress.
type schedule struct {
	r    *Runner
	rows []Row
	free int // idle workers
	done chan struct{}

	mu       sync.Mutex
	returned int // workers of points that ended
	state    Progress
	hops     uint64  // hops of points that ended
	work     float64 // cost of all points that must run
	finished float64 // cost of points that ended
	shares   map[*Point]report
}

type report struct {
	share float64
	hops  uint64
}

// run runs a point and stores its row.
func (s *schedule) run(ctx context.Context, p *Point, workers int, stop context.CancelCauseFunc) {
	row, err := s.r.point(ctx, p, workers, func(share float64, hops uint64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shares[p] = report{share, hops}
		s.notify()
	})
	var write *run.WriteError
	switch {
	case err == nil:
	case errors.As(err, &write):
		stop(write)
	case ctx.Err() != nil:
	default:
		row, err = Row{Point: p, Verdict: run.Verdict{Code: run.Failure, Message: err.Error()}}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.keep(row)
		s.finished += p.cost()
	}
	s.hops += s.shares[p].hops
	delete(s.shares, p)
	s.returned += workers
	s.notify()
	s.done <- struct{}{}
}

// keep adds the row of a finished point.
func (s *schedule) keep(row Row) {
	s.rows[row.Point.Index] = row
	s.state.Done++
}

// notify reports progress. The caller holds the lock or is the only goroutine.
func (s *schedule) notify() {
	if s.r.Progress == nil {
		return
	}
	work := s.finished
	s.state.Hops = s.hops
	for p, r := range s.shares {
		work += r.share * p.cost()
		s.state.Hops += r.hops
	}
	s.state.Share = work / max(s.work, math.SmallestNonzeroFloat64)
	s.r.Progress(s.state)
}

func (r *Runner) point(ctx context.Context, p *Point, workers int, report func(float64, uint64)) (Row, error) {
	temp, err := r.Store.begin(p)
	if err != nil {
		return Row{}, &run.WriteError{Err: err}
	}
	began := time.Now()
	job := &Job{Point: p, Workers: workers, Folder: temp, Report: report}
	limited, stop := WithLimit(ctx, &LimitError{Limit: r.Limit})
	defer stop()
	verdict, err := r.Run(limited, job)
	var late *LimitError
	if errors.As(context.Cause(limited), &late) {
		err = late
	}
	if err == nil {
		err = ctx.Err() // results of an interrupted point are partial
	}
	if err != nil {
		r.Store.abandon(temp)
		return Row{}, err
	}
	seconds := 0.0
	if r.Timed {
		if seconds = job.Seconds; seconds == 0 {
			seconds = time.Since(began).Seconds() * float64(workers)
		}
	}
	return r.Store.commit(p, temp, verdict, seconds)
}
