package hardware

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/xoff-net/xoff/dataplane"
)

// near is how many cells apart two points agree.
const near = 2

// Demands on the shares of rows, in per cent: of the distance from the first pause to the
// first drop, and of the first pause.
const (
	DropDemand = 85
	PFCDemand  = 70
)

// Point is a number that was measured and the one that the model gives, in frames.
type Point struct {
	Predicted int64 `json:"predicted"`
	Measured  int64 `json:"measured"`
	Cells     int64 `json:"difference_cells"` // predicted less measured
	Allowed   int64 `json:"allowed_cells"`
	Within    bool  `json:"within"`
}

// Turns are points of queues that fill in turn.
type Turns struct {
	Queues int   `json:"queues"`
	Exact  int   `json:"exact"`
	Worst  int64 `json:"worst_cells"`
	First  int64 `json:"first_cells"` // difference of the first queue, which is alone
}

// Same reports whether the first queue is near enough for the others to tell something.
func (t *Turns) Same() bool { return -near <= t.First && t.First <= near }

// Result is a row and what the model says of it. What was not measured, or cannot be
// predicted, is nil.
type Result struct {
	Row
	// PFC is the frame that makes the switch pause.
	PFC *Point `json:"pfc,omitempty"`
	// Drop is the first frame that is dropped, counted from there on.
	Drop *Point `json:"drop_after_pfc,omitempty"`
	// Whole is the same, counted from the first frame on.
	Whole *Point `json:"drop,omitempty"`
	// Resume is how many frames leave until the switch resumes, at the latest.
	Resume *Point   `json:"resume,omitempty"`
	Turns  *Turns   `json:"in_turn,omitempty"`
	Pool   *Point   `json:"headroom_pool,omitempty"`
	Why    []string `json:"why,omitempty"` // what is not within
	NoTest string   `json:"no_test,omitempty"`

	setup *setup
}

// Compare measures the switches of rows, several at once, and calls progress with how
// many of them are done.
func Compare(ctx context.Context, rows []Row, workers int, progress func(done, all int)) ([]Result, error) {
	results := make([]Result, len(rows))
	var todo []setup
	var first []string // row of each
	known := make(map[setup]int)
	for i := range rows {
		results[i].Row = rows[i]
		s, err := newSetup(&rows[i])
		switch {
		case err != nil:
			results[i].NoTest = "the chip is not modelled"
		case s == nil:
			results[i].NoTest = "the profile is not known"
		default:
			results[i].setup = s
			if _, twice := known[*s]; !twice {
				known[*s] = len(todo)
				todo, first = append(todo, *s), append(first, rows[i].ID)
			}
		}
	}
	found, err := measureAll(ctx, todo, first, workers, progress)
	if err != nil {
		return nil, err
	}
	for i := range results {
		if s := results[i].setup; s != nil {
			results[i].compare(found[known[*s]])
		}
	}
	for i := range results {
		results[i].explain(results)
	}
	return results, nil
}

// measureAll measures setups. Each is alone with its switch, so the order does not matter.
func measureAll(ctx context.Context, todo []setup, rows []string, workers int, progress func(done, all int)) ([]*points, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found, errs := make([]*points, len(todo)), make([]error, len(todo))
	next, done := make(chan int), make(chan struct{})
	var all sync.WaitGroup
	for range max(1, min(workers, len(todo))) {
		all.Go(func() {
			for i := range next {
				found[i], errs[i] = todo[i].measure(func() *dataplane.Checks { return nil })
				if errors.Is(errs[i], errTooLong) || errors.Is(errs[i], errNoPause) {
					found[i], errs[i] = &points{none: errs[i].Error()}, nil
				}
				if errs[i] != nil {
					cancel()
				}
				done <- struct{}{}
			}
		})
	}
	go func() {
		defer close(next)
		for i := range todo {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() { all.Wait(); close(done) }()
	n := 0
	for range done {
		n++
		progress(n, len(todo))
	}
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("row %s, %s: %w", rows[i], &todo[i], err)
		}
	}
	return found, context.Cause(ctx)
}

// point compares two numbers of frames.
func (r *Result) point(predicted, measured, allowed int64) *Point {
	p := &Point{Predicted: predicted, Measured: measured, Cells: r.setup.cells(predicted - measured), Allowed: max(near, allowed)}
	p.Within = max(p.Cells, -p.Cells) <= p.Allowed
	return p
}

// compare holds a row against what was found.
func (r *Result) compare(p *points) {
	row := &r.Row
	if r.NoTest = p.none; p.none != "" {
		return
	}
	if row.PFC != nil && row.Pool != nil {
		r.PFC = r.point(p.pfc, *row.PFC, r.setup.cells(row.Margin))
	}
	if row.PFC != nil && row.Drop != nil {
		r.Drop = r.point(p.drop-p.pfc, *row.Drop-*row.PFC, near)
		if row.Pool != nil {
			r.Whole = r.point(p.drop, *row.Drop, r.setup.cells(row.Margin))
		}
	}
	if row.Dismiss != nil && p.resume > 0 {
		// The test shows that the switch has resumed by then, not that it had not before.
		r.Resume = r.point(p.resume, *row.Dismiss, r.setup.cells(row.Margin))
		r.Resume.Within = r.Resume.Cells <= r.Resume.Allowed
	}
	if n := len(row.Turns); n > 0 && row.Pool != nil && p.turns != nil {
		r.Turns = &Turns{Queues: n}
		for i, measured := range row.Turns {
			d := r.setup.cells(p.turns[i] - measured)
			if i == 0 {
				r.Turns.First = d
			}
			if d == 0 {
				r.Turns.Exact++
			}
			r.Turns.Worst = max(r.Turns.Worst, d, -d)
		}
	}
	if row.PGs != nil && row.Full != nil && row.Partial != nil && p.turns != nil && r.setup.pool > 0 {
		r.Pool = r.point(p.pool, (*row.PGs-1)**row.Full+*row.Partial, near)
	}
}

// Share is how many of those that were tested are within.
type Share struct {
	Within int `json:"within"`
	Of     int `json:"of"`
}

func (s Share) String() string { return fmt.Sprintf("%d of %d (%.1f %%)", s.Within, s.Of, s.Percent()) }

// Percent of a share of nothing is 0.
func (s Share) Percent() float64 { return 100 * float64(s.Within) / math.Max(1, float64(s.Of)) }

func (s *Share) add(within bool) {
	s.Of++
	if within {
		s.Within++
	}
}

// Shares are those of rows with a known profile, and of groups of rows that have the same
// points: a group is within when all of its rows are.
type Shares struct {
	Drop       Share `json:"drop_after_pfc"`
	PFC        Share `json:"pfc"`
	Whole      Share `json:"drop"`
	DropGroups Share `json:"drop_after_pfc_groups"`
	PFCGroups  Share `json:"pfc_groups"`
}

// SharesOf counts.
func SharesOf(results []Result) Shares {
	var s Shares
	s.Drop, s.DropGroups = shares(results, func(r *Result) *Point { return r.Drop })
	s.Whole, _ = shares(results, func(r *Result) *Point { return r.Whole })
	s.PFC, s.PFCGroups = shares(results, func(r *Result) *Point { return r.PFC })
	return s
}

func shares(results []Result, of func(*Result) *Point) (rows, groups Share) {
	var names []string
	within := make(map[string]bool)
	for i := range results {
		r := &results[i]
		p := of(r)
		if p == nil || !r.Known() {
			continue
		}
		rows.add(p.Within)
		name := r.Chip + " " + r.Group
		was, seen := within[name]
		if !seen {
			names = append(names, name)
		}
		within[name] = p.Within && (was || !seen)
	}
	for _, name := range names {
		groups.add(within[name])
	}
	return rows, groups
}

// Problems are demands that are not met.
func (s *Shares) Problems() []string {
	var list []string
	if s.Drop.Percent() < DropDemand {
		list = append(list, fmt.Sprintf("drop after PFC: %s, demanded: %d %%", s.Drop, DropDemand))
	}
	if s.PFC.Percent() < PFCDemand {
		list = append(list, fmt.Sprintf("PFC: %s, demanded: %d %%", s.PFC, PFCDemand))
	}
	return list
}
