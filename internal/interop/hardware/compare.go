package hardware

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/xoff-net/xoff/dataplane"
)

// tolerance is the allowed difference between two thresholds, in cells.
const tolerance = 2

// Required shares of rows within tolerance, in per cent: for the frames from the first
// pause to the first drop, and for the first pause.
const (
	MinDropShare = 85
	MinPFCShare  = 70
)

// Comparison has the predicted and the measured value of a threshold, in frames.
type Comparison struct {
	Predicted int64 `json:"predicted"`
	Measured  int64 `json:"measured"`
	Cells     int64 `json:"difference_cells"` // predicted - measured
	Allowed   int64 `json:"allowed_cells"`
	Within    bool  `json:"within"`
}

// Turns summarizes the pause thresholds of queues that fill in turn.
type Turns struct {
	Queues int   `json:"queues"`
	Exact  int   `json:"exact"`
	Worst  int64 `json:"worst_cells"`
	First  int64 `json:"first_cells"` // difference of the first queue, which fills alone
}

// Same reports whether the first queue is within tolerance; otherwise the others cannot be
// compared.
func (t *Turns) Same() bool { return -tolerance <= t.First && t.First <= tolerance }

// Result is a row with the model's predictions. Comparisons are nil if the value was not
// measured or cannot be predicted.
type Result struct {
	Row
	// PFC is the first frame that causes a pause.
	PFC *Comparison `json:"pfc,omitempty"`
	// Drop is the first frame that is dropped, counted from the pause.
	Drop *Comparison `json:"drop_after_pfc,omitempty"`
	// Whole is the first frame that is dropped, counted from the first frame.
	Whole *Comparison `json:"drop,omitempty"`
	// Resume is the number of frames that leave before the switch resumes, at most.
	Resume *Comparison `json:"resume,omitempty"`
	Turns  *Turns      `json:"in_turn,omitempty"`
	Pool   *Comparison `json:"headroom_pool,omitempty"`
	Why    []string    `json:"why,omitempty"` // explanations of values out of tolerance
	NoTest string      `json:"no_test,omitempty"`

	setup *setup
}

// Compare measures the switches of rows on several workers, and calls progress with the
// number of finished ones. Identical switches are measured once.
func Compare(ctx context.Context, rows []Row, workers int, progress func(done, all int)) ([]Result, error) {
	results := make([]Result, len(rows))
	var todo []setup
	var first []string // first row of each setup
	known := make(map[setup]int)
	for i := range rows {
		results[i].Row = rows[i]
		s, err := newSetup(&rows[i])
		switch {
		case err != nil:
			results[i].NoTest = "the chip is not modelled"
		case s == nil:
			results[i].NoTest = "the profile is unknown"
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

// measureAll measures setups. They are independent, so their order does not matter.
func measureAll(ctx context.Context, todo []setup, rows []string, workers int, progress func(done, all int)) ([]*measurement, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found, errs := make([]*measurement, len(todo)), make([]error, len(todo))
	next, done := make(chan int), make(chan struct{})
	var all sync.WaitGroup
	for range max(1, min(workers, len(todo))) {
		all.Go(func() {
			for i := range next {
				found[i], errs[i] = todo[i].measure(func() *dataplane.Checks { return nil })
				if errors.Is(errs[i], errTooManyFrames) || errors.Is(errs[i], errNoPause) {
					found[i], errs[i] = &measurement{none: errs[i].Error()}, nil
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

// comparison compares two numbers of frames. The tolerance allowed is in cells.
func (r *Result) comparison(predicted, measured, allowed int64) *Comparison {
	p := &Comparison{Predicted: predicted, Measured: measured, Cells: r.setup.cells(predicted - measured), Allowed: max(tolerance, allowed)}
	p.Within = max(p.Cells, -p.Cells) <= p.Allowed
	return p
}

// compare compares a row with the measurement of the simulated switch.
func (r *Result) compare(p *measurement) {
	row := &r.Row
	if r.NoTest = p.none; p.none != "" {
		return
	}
	if row.PFC != nil && row.Pool != nil {
		r.PFC = r.comparison(p.pfc, *row.PFC, r.setup.cells(row.Margin))
	}
	if row.PFC != nil && row.Drop != nil {
		r.Drop = r.comparison(p.drop-p.pfc, *row.Drop-*row.PFC, tolerance)
		if row.Pool != nil {
			r.Whole = r.comparison(p.drop, *row.Drop, r.setup.cells(row.Margin))
		}
	}
	if row.Dismiss != nil && p.resume > 0 {
		// The test shows that the switch has resumed by then; it may have resumed earlier.
		r.Resume = r.comparison(p.resume, *row.Dismiss, r.setup.cells(row.Margin))
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
		r.Pool = r.comparison(p.pool, (*row.PGs-1)**row.Full+*row.Partial, tolerance)
	}
}

// Share counts the tested values that are within tolerance.
type Share struct {
	Within int `json:"within"`
	Of     int `json:"of"`
}

func (s Share) String() string { return fmt.Sprintf("%d of %d (%.1f %%)", s.Within, s.Of, s.Percent()) }

// Percent returns the share in per cent, 0 if nothing was tested.
func (s Share) Percent() float64 { return 100 * float64(s.Within) / math.Max(1, float64(s.Of)) }

func (s *Share) add(within bool) {
	s.Of++
	if within {
		s.Within++
	}
}

// Shares has the shares of rows with a known profile, and of groups of rows with the same
// thresholds. A group is within tolerance if all of its rows are.
type Shares struct {
	Drop       Share `json:"drop_after_pfc"`
	PFC        Share `json:"pfc"`
	Whole      Share `json:"drop"`
	DropGroups Share `json:"drop_after_pfc_groups"`
	PFCGroups  Share `json:"pfc_groups"`
}

// SharesOf returns the shares of results.
func SharesOf(results []Result) Shares {
	var s Shares
	s.Drop, s.DropGroups = shares(results, func(r *Result) *Comparison { return r.Drop })
	s.Whole, _ = shares(results, func(r *Result) *Comparison { return r.Whole })
	s.PFC, s.PFCGroups = shares(results, func(r *Result) *Comparison { return r.PFC })
	return s
}

func shares(results []Result, of func(*Result) *Comparison) (rows, groups Share) {
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

// Problems lists the shares that are too small.
func (s *Shares) Problems() []string {
	var list []string
	if s.Drop.Percent() < MinDropShare {
		list = append(list, fmt.Sprintf("drop after PFC: %s are within tolerance (expected at least %d %%)", s.Drop, MinDropShare))
	}
	if s.PFC.Percent() < MinPFCShare {
		list = append(list, fmt.Sprintf("PFC: %s are within tolerance (expected at least %d %%)", s.PFC, MinPFCShare))
	}
	return list
}
