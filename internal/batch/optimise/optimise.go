// Package optimise searches for settings that minimise noisy goals under constraints: Sobol
// points, then local search around the best. It does not know what a setting means: the
// caller runs it. Settings share seeds, so they are compared seed by seed, and settings that
// are clearly worse get no further seeds. Every decision depends only on the outcomes and
// their order, never on their timing.
package optimise

import (
	"fmt"
	"math"
	"slices"
)

// Axis is the values of one key, by their index.
type Axis struct {
	Levels  int  // number of values
	Ordered bool // neighbours are similar; false for words
	Today   int  // index of today's value; -1: it is not a level
}

// Problem is what to search.
type Problem struct {
	Axes  []Axis
	Goals int // 1 or 2, all minimised
	// Run runs trials and returns their outcomes in the same order.
	Run func([]Trial) ([]Outcome, error)
}

// Trial is one run: a setting with a seed.
type Trial struct {
	Setting []int // index of a level per axis; nil: today's setting
	Seed    int   // index of the seed, from 0
}

// Outcome is the result of a trial.
type Outcome struct {
	Goals     []float64
	Violation float64 // 0: every constraint holds; larger is worse
	Invalid   bool    // the setting cannot run; such a trial costs nothing. Today's setting is never invalid
}

// Options bound a search.
type Options struct {
	Runs    int    // maximum number of trials
	Seeds   int    // seeds of a setting in the search
	Confirm int    // fresh seeds with which the best setting is compared with today's
	Resets  bool   // reset each axis of the best setting to today's value, alone
	Batch   int    // candidates of a step of the local search
	Seed    uint64 // of the sequence of candidates
}

// State is what became of a setting.
type State string

// States of a setting.
const (
	running  State = "running"
	Complete State = "complete" // ran with all seeds
	Ended    State = "ended"    // clearly worse than the best, or violates a constraint: ended early
	Invalid  State = "invalid"  // cannot run
	Rejected State = "rejected" // violates a constraint with a fresh seed
)

// Entry is a setting with its outcomes.
type Entry struct {
	Setting  []int // nil: today's
	Outcomes []Outcome
	Fresh    []Outcome // with seeds that the search did not use
	State    State
}

// Violation returns the largest violation of the outcomes.
func (e *Entry) Violation() float64 {
	worst := 0.0
	for _, o := range slices.Concat(e.Outcomes, e.Fresh) {
		worst = max(worst, o.Violation)
	}
	return worst
}

// Result is the outcome of a search.
type Result struct {
	Entries []*Entry // in order of their first trial; the first is today's setting
	// Best is the best setting that satisfies the constraints, with two goals the most
	// balanced one; nil: there is none.
	Best    *Entry
	Closest *Entry   // setting with the smallest violation
	Front   []*Entry // with two goals: settings that no other one dominates
	// Resets has, by axis, Best with today's value of the axis; nil if it did not run.
	Resets    []*Entry
	Runs      int
	Exhausted bool // every setting was tried
}

// Reserve returns the number of runs that a search spends outside of the search itself: with
// today's setting, to confirm the best one, and to reset its axes.
func (o *Options) Reserve(axes int) int {
	n := o.Seeds + 2*o.Confirm
	if o.Resets && axes > 1 {
		n += axes * o.Seeds
	}
	return n
}

// MinRuns returns the smallest useful number of runs.
func (o *Options) MinRuns(axes int) int { return o.Reserve(axes) + 4*o.Seeds }

// search is a search in progress.
type search struct {
	*Problem
	Options
	sequence *sobol
	result   *Result
	known    map[string]*Entry
	left     int // runs that the search may still use
}

// Search runs a search. It returns the errors of Run.
func Search(p *Problem, o Options) (*Result, error) {
	if least := o.MinRuns(len(p.Axes)); o.Runs < least {
		return nil, fmt.Errorf("%d runs are too few (expected at least %d)", o.Runs, least)
	}
	s := newSearch(p, o)
	if err := s.complete(s.result.Entries[:1]); err != nil {
		return nil, err
	}
	if err := s.explore(); err != nil {
		return nil, err
	}
	if err := s.refine(); err != nil {
		return nil, err
	}
	if err := s.reset(); err != nil {
		return nil, err
	}
	if err := s.confirm(); err != nil {
		return nil, err
	}
	s.conclude()
	return s.result, nil
}

// newSearch returns a search that knows today's setting.
func newSearch(p *Problem, o Options) *search {
	s := &search{Problem: p, Options: o, sequence: newSobol(len(p.Axes), o.Seed), result: &Result{}, known: make(map[string]*Entry)}
	s.left = o.Runs - o.Reserve(len(p.Axes)) + o.Seeds // today's are counted when they run
	today := &Entry{}
	s.result.Entries = []*Entry{today}
	if levels := s.today(); levels != nil {
		s.known[fmt.Sprint(levels)] = today
	}
	return s
}

// today returns the levels of today's setting, or nil if some value is not a level.
func (s *search) today() []int {
	var list []int
	for _, a := range s.Axes {
		if a.Today < 0 {
			return nil
		}
		list = append(list, a.Today)
	}
	return list
}

// note adds an entry to the result.
func (s *search) note(e *Entry) {
	s.result.Entries = append(s.result.Entries, e)
	s.known[fmt.Sprint(e.Setting)] = e
}

// levels returns the position of an entry, or nil for today's if it has none.
func (s *search) levels(e *Entry) []int {
	if e.Setting != nil {
		return e.Setting
	}
	return s.today()
}

// run adds one seed to each entry.
func (s *search) run(list []*Entry) error {
	var trials []Trial
	for _, e := range list {
		trials = append(trials, Trial{e.Setting, len(e.Outcomes)})
	}
	return s.trials(trials, func(i int, o Outcome) {
		if list[i].take(i, o); !o.Invalid {
			s.left--
		}
	})
}

// take adds an outcome of an entry.
func (e *Entry) take(_ int, o Outcome) {
	if o.Invalid {
		e.State = Invalid
		return
	}
	e.Outcomes = append(e.Outcomes, o)
}

func (s *search) trials(list []Trial, take func(int, Outcome)) error {
	if len(list) == 0 {
		return nil
	}
	outcomes, err := s.Run(list)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.Invalid {
			o.Violation = math.Inf(1)
		}
		for _, g := range o.Goals {
			if math.IsNaN(g) || math.IsInf(g, 0) {
				o.Violation = math.Inf(1)
			}
		}
		if !o.Invalid {
			s.result.Runs++
		}
		take(i, o)
	}
	return nil
}

// complete runs entries with all seeds, one seed at a time. After each it ends entries that
// are hopeless.
func (s *search) complete(list []*Entry) error {
	for len(list) > 0 {
		if err := s.run(list); err != nil {
			return err
		}
		var alive []*Entry
		for _, e := range list {
			switch {
			case e.State == Invalid:
			case len(e.Outcomes) == s.Seeds:
				e.State = Complete
			case e == s.result.Entries[0] || !s.hopeless(e):
				alive = append(alive, e)
			default:
				e.State = Ended
			}
		}
		list = alive
	}
	return nil
}

// spread returns the settings of Sobol points in the whole space.
func (s *search) spread() []*Entry {
	return s.candidates(max(2, s.left*2/5), func(point []uint32) []int {
		var setting []int
		for j, a := range s.Axes {
			setting = append(setting, part(point[j], a.Levels))
		}
		return setting
	})
}

// explore tries Sobol points with one seed and continues the best quarter of them.
func (s *search) explore() error {
	list := s.spread()
	if err := s.run(list); err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(e *Entry) bool { return e.State == Invalid })
	if s.Seeds == 1 {
		for _, e := range list {
			e.State = Complete
		}
		return nil
	}
	var promoted []*Entry
	for _, w := range s.weights() {
		r := s.ranking(w)
		slices.SortStableFunc(list, func(a, b *Entry) int { return r.compare(a, b, 1) })
		for _, e := range list[:min(len(list), max(2, (len(list)+3)/4))] {
			if e.State == "" && (len(promoted)+1)*(s.Seeds-1) <= s.left {
				e.State = running
				promoted = append(promoted, e)
			}
		}
	}
	for _, e := range list {
		if e.State == "" {
			e.State = Ended
		}
	}
	return s.complete(promoted)
}

// weights returns the weights of the first goal for which the search looks for settings.
func (s *search) weights() []float64 {
	if s.Goals == 2 {
		return []float64{balanced, 0.1, 0.9}
	}
	return []float64{balanced}
}

// Steps of the local search. The box around the best setting has this half width at first, as
// a share of an axis. A step without success narrows it; below the narrowest width it starts
// again.
const (
	widest    = 0.25
	narrowing = 0.65
	narrowest = 0.01
)

// refine tries settings in a box around the best one until the runs are used up.
func (s *search) refine() error {
	width, tries, weights := widest, 0, s.weights()
	for s.left >= s.Seeds && tries < s.Runs {
		tries++
		var list []*Entry
		before := make(map[float64]*Entry)
		for i := range min(s.Batch, s.left/s.Seeds) {
			w := weights[(tries+i)%len(weights)]
			best := s.best(w)
			before[w] = best
			if e := s.predicted(w, best); e != nil && i%2 == 0 {
				list = append(list, e)
				continue
			}
			list = append(list, s.candidates(1, func(point []uint32) []int { return s.near(best, width, point) })...)
		}
		if len(list) == 0 {
			if width == 1 {
				s.result.Exhausted = true
				return nil
			}
			width = min(1, 2*width)
			continue
		}
		if err := s.complete(list); err != nil {
			return err
		}
		better := false
		for w, e := range before {
			better = better || s.best(w) != e
		}
		switch {
		case better:
		case width < narrowest:
			width = widest
		default:
			width *= narrowing
		}
	}
	return nil
}

// keepWord is the share of candidates that keep a word of the best setting, of 2^32.
const keepWord = 6 * (1 << 32 / 10)

// near returns the setting of a point in a box around an entry, or anywhere if the entry has
// no position.
func (s *search) near(e *Entry, width float64, point []uint32) []int {
	centre := s.levels(e)
	var setting []int
	for j, a := range s.Axes {
		half := max(1, int(width*float64(a.Levels)+0.5))
		switch p := point[j]; {
		case centre == nil || width == 1:
			setting = append(setting, part(p, a.Levels))
		case a.Ordered:
			at := centre[j] - half + part(p, 2*half+1)
			setting = append(setting, min(max(at, 0), a.Levels-1))
		case p < keepWord:
			setting = append(setting, centre[j])
		default:
			setting = append(setting, part(uint32(uint64(p-keepWord)<<32/(1<<32-keepWord)), a.Levels))
		}
	}
	return setting
}

// maxMisses is the number of points in a row that lead to known settings after which
// candidates gives up.
const maxMisses = 300

// candidates returns up to n new settings.
func (s *search) candidates(n int, of func(point []uint32) []int) []*Entry {
	var list []*Entry
	for misses := 0; len(list) < n && misses < maxMisses; {
		e := s.add(of(s.sequence.next()))
		if e == nil {
			misses++
			continue
		}
		misses = 0
		list = append(list, e)
	}
	return list
}

// add adds a setting, or returns nil if it is known.
func (s *search) add(setting []int) *Entry {
	if s.known[fmt.Sprint(setting)] != nil {
		return nil
	}
	e := &Entry{Setting: setting}
	s.note(e)
	return e
}

// First returns the trials that a search runs whatever their outcomes are.
func First(p *Problem, o Options) []Trial {
	s := newSearch(p, o)
	var list []Trial
	for seed := range o.Seeds {
		list = append(list, Trial{Seed: seed})
	}
	s.left -= o.Seeds
	for _, e := range s.spread() {
		list = append(list, Trial{Setting: e.Setting})
	}
	return list
}
