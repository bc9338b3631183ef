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

// Job is a point on its way.
type Job struct {
	Point   *Point
	Workers int    // goroutines it may use
	Folder  string // exists and is empty; takes the results
	Check   bool   // that the scenario has the hash of the point's key
	// Report tells how far it is, from 0 to 1, and how many hops it simulated.
	Report func(share float64, hops uint64)
	// Seconds is how long one core took, if who ran it knows better than the clock here.
	Seconds float64
}

// Runner runs the points of a grid and keeps their results.
type Runner struct {
	Store   Store
	Workers int
	Timed   bool // keep how long points took; folders of the same points then differ
	// Build makes a point ready to run; its errors are mistakes in the input.
	Build func(fabric.Plan) (*fabric.Fabric, error)
	// Run simulates a point and writes its results. An error other than a
	// run.WriteError or the context's means that this point has no results.
	Run func(context.Context, *Job) (run.Verdict, error)
	// Progress is told about every change, by one goroutine at a time; it may be
	// nil.
	Progress func(Progress)

	kept atomic.Int32 // points that were given a plan to keep
}

func (p *Point) cost() float64 {
	if p.Cost > 0 {
		return p.Cost
	}
	return 1
}

// Progress is how far a sweep is.
type Progress struct {
	Preparing           bool    // points are built, to see what is wrong with them; Done counts these
	Done, Total, Reused int     // points; the reused ones are among those done
	Share               float64 // of the work, reused points excluded, from 0 to 1
	Hops                uint64  // simulated so far, reused points excluded
}

// Prepare builds every point once, so that every mistake in a value shows before
// anything runs, and gives it its key and folder. Metrics are names that the
// results of some point must have.
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

// Ready builds points and gives them their keys, not their folders. It returns the
// names of the metrics that they will have.
func (r *Runner) Ready(ctx context.Context, points []*Point, options string) ([]string, error) {
	program, err := Executable()
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(points))
	names := make([][]string, len(points))
	var lock sync.Mutex
	var shared [][]string // most points have the same names, and these take more memory than a point
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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range errs {
		var in *scenario.InputError
		switch p := points[i]; {
		case err == nil:
		case p.Blame != nil && errors.As(err, &in):
			return nil, p.Blame(err)
		default:
			return nil, fmt.Errorf("%w (at %s)", err, p.Label)
		}
	}
	return union(names), nil
}

// prepare returns the metrics that the point will have.
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

// keptPlans bounds how many points of a sweep keep their plan until they run: a plan of a
// large fabric takes some megabytes.
const keptPlans = 16

// BuildPoint builds a point to look at it. The first points keep their plan for the run.
func (r *Runner) BuildPoint(p *Point) (*fabric.Fabric, error) {
	plan, err := p.lay()
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

// lay lays out the point, unless its plan was kept.
func (p *Point) lay() (fabric.Plan, error) {
	if p.plan != nil {
		return *p.plan, nil
	}
	return fabric.NewPlan(p.Config)
}

// frames is about how many frames a run sends, in kilobytes of its flows: what most of
// its time goes into.
func frames(b *fabric.Fabric) float64 {
	n := int64(0)
	for i := range b.Flows.Flow {
		n += (int64(b.Flows.Flow[i].Size) + 999) / 1000
	}
	return float64(n)
}

// share returns the list that has the same strings, and remembers it if there is none.
func share(lists *[][]string, list []string) []string {
	if i := slices.IndexFunc(*lists, func(l []string) bool { return slices.Equal(l, list) }); i >= 0 {
		return (*lists)[i]
	}
	*lists = append(*lists, list)
	return list
}

// union keeps the order of the first list and adds what later ones have more.
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

// each calls f with 0 to n-1 on all workers.
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

// Sweep runs the points that have no results yet and returns one row per point,
// in order. When the context ends, running points stop and are forgotten; what
// is finished stays in the store. The rows do not depend on the order in which
// points finish.
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
	s.tell()
	running := 0
	for ctx.Err() == nil && (len(open) > 0 || running > 0) {
		for len(open) > 0 && s.free > 0 && ctx.Err() == nil {
			// Few points share the workers among them; many take one each.
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
	free int // workers without work
	done chan struct{}

	mu       sync.Mutex
	returned int // workers of points that ended
	state    Progress
	hops     uint64  // of points that ended
	work     float64 // cost of all points that must run
	finished float64 // of those that ended
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
		s.tell()
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
	s.tell()
	s.done <- struct{}{}
}

// keep stores the row of a point that is done.
func (s *schedule) keep(row Row) {
	s.rows[row.Point.Index] = row
	s.state.Done++
}

// tell reports progress; the caller holds the lock, or is alone.
func (s *schedule) tell() {
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

func (r *Runner) point(ctx context.Context, p *Point, workers int, tell func(float64, uint64)) (Row, error) {
	temp, err := r.Store.begin(p)
	if err != nil {
		return Row{}, &run.WriteError{Err: err}
	}
	began := time.Now()
	job := &Job{Point: p, Workers: workers, Folder: temp, Report: tell}
	verdict, err := r.Run(ctx, job)
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
