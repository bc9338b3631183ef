package optimise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// balanced weights two goals equally.
const balanced = 0.5

// ranking compares entries by their violation, then by their goals. Two goals become the
// larger of their weighted distances from the best values, as shares of the trade-off so far.
type ranking struct {
	weight    float64
	low, span []float64 // of two goals
}

// ranking returns a ranking with the weight of the first of two goals.
func (s *search) ranking(weight float64) *ranking {
	r := &ranking{weight: weight}
	if s.Goals == 1 {
		return r
	}
	front := s.front()
	for g := range s.Goals {
		low, high := math.Inf(1), math.Inf(-1)
		for _, e := range front {
			v := e.mean(g, s.Seeds)
			low, high = min(low, v), max(high, v)
		}
		if high <= low || len(front) == 0 {
			first := math.Abs(s.result.Entries[0].mean(g, s.Seeds))
			low, high = 0, cmp.Or(first, 1)
		}
		r.low, r.span = append(r.low, low), append(r.span, high-low)
	}
	return r
}

// front returns the complete settings that satisfy the constraints and that no other one
// dominates, by the first goal.
func (s *search) front() []*Entry {
	var list []*Entry
	for _, e := range s.result.Entries {
		if e.State == Complete && e.Violation() == 0 {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.mean(0, s.Seeds), b.mean(0, s.Seeds)), cmp.Compare(a.mean(1, s.Seeds), b.mean(1, s.Seeds)))
	})
	low := math.Inf(1)
	return slices.DeleteFunc(list, func(e *Entry) bool {
		v := e.mean(1, s.Seeds)
		dominated := v >= low
		low = min(low, v)
		return dominated
	})
}

// mean returns the mean of a goal over the first n seeds.
func (e *Entry) mean(goal, n int) float64 {
	sum := 0.0
	for _, o := range e.Outcomes[:n] {
		sum += o.Goals[goal]
	}
	return sum / float64(n)
}

// score returns what an outcome contributes to the rank of its setting; lower is better.
func (r *ranking) score(o *Outcome) float64 {
	if len(o.Goals) == 1 {
		return o.Goals[0]
	}
	a, b := (o.Goals[0]-r.low[0])/r.span[0], (o.Goals[1]-r.low[1])/r.span[1]
	// The small sum prefers settings that no other one dominates.
	return max(float64(r.weight*a), float64((1-r.weight)*b)) + float64(0.01*(a+b))
}

// scores returns the scores of the first n outcomes.
func (r *ranking) scores(e *Entry, n int) []float64 {
	var list []float64
	for i := range n {
		list = append(list, r.score(&e.Outcomes[i]))
	}
	return list
}

// violation returns the largest violation of the first n outcomes.
func violation(e *Entry, n int) float64 {
	worst := 0.0
	for _, o := range e.Outcomes[:n] {
		worst = max(worst, o.Violation)
	}
	return worst
}

// compare compares entries by their first n seeds.
func (r *ranking) compare(a, b *Entry, n int) int {
	return cmp.Or(cmp.Compare(violation(a, n), violation(b, n)), cmp.Compare(average(r.scores(a, n)), average(r.scores(b, n))))
}

// best returns the best complete entry.
func (s *search) best(weight float64) *Entry {
	r := s.ranking(weight)
	var best *Entry
	for _, e := range s.result.Entries {
		if e.State != Complete {
			continue
		}
		if best == nil || cmp.Or(r.compare(e, best, s.Seeds), cmp.Compare(s.changes(e), s.changes(best))) < 0 {
			best = e
		}
	}
	return best
}

// changes returns the number of axes on which an entry differs from today's setting. Of equal
// settings the one with the fewest changes is the best.
func (s *search) changes(e *Entry) int {
	n := 0
	for j, level := range e.Setting {
		if level != s.Axes[j].Today {
			n++
		}
	}
	return n
}

// hopeless reports whether an entry with some seeds is unlikely to become the best: it has a
// larger violation, or its score is worse by more than the noise of a comparison.
func (s *search) hopeless(e *Entry) bool {
	n := len(e.Outcomes)
	weights := []float64{balanced}
	if s.Goals == 2 {
		weights = []float64{balanced, 0, 1}
	}
	for _, w := range weights {
		best := s.best(w)
		if best == nil {
			return false
		}
		mine, its := violation(e, n), violation(best, n)
		if mine > 0 && mine >= its {
			return true // for every weight
		}
		if mine < its {
			return false
		}
		r := s.ranking(w)
		lag := average(r.scores(e, n)) - average(r.scores(best, n))
		if lag <= s.noise(r, best)/math.Sqrt(float64(n)) {
			return false
		}
	}
	return true
}

// noise returns the standard deviation, over seeds, of the difference between the scores of
// the best entry and of others.
func (s *search) noise(r *ranking, best *Entry) float64 {
	sum, freedom := 0.0, 0
	mine := r.scores(best, s.Seeds)
	for _, e := range s.result.Entries {
		if e == best || e.State != Complete || e.Violation() > 0 {
			continue
		}
		list := r.scores(e, s.Seeds)
		for i := range list {
			list[i] -= mine[i]
		}
		mean := average(list)
		for _, x := range list {
			sum += float64((x - mean) * (x - mean))
		}
		freedom += len(list) - 1
	}
	if freedom == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(freedom))
}

func average(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// confirm runs the best setting and today's with fresh seeds. If the best one violates a
// constraint there, the next best follows while runs are left.
func (s *search) confirm() error {
	today := s.result.Entries[0]
	for {
		best := s.best(balanced)
		if best == nil || best == today || violation(best, s.Seeds) > 0 || s.Confirm == 0 {
			return nil
		}
		list := []*Entry{best}
		if today.Fresh == nil {
			list = append(list, today)
		}
		if s.result.Runs+len(list)*s.Confirm > s.Runs {
			best.State = Rejected // nothing is left to confirm it with
			continue
		}
		var trials []Trial
		for _, e := range list {
			for i := range s.Confirm {
				trials = append(trials, Trial{e.Setting, s.Seeds + i})
			}
		}
		err := s.trials(trials, func(i int, o Outcome) { list[i/s.Confirm].Fresh = append(list[i/s.Confirm].Fresh, o) })
		if err != nil || best.Violation() == 0 {
			return err
		}
		best.State = Rejected
	}
}

// reset runs the best setting with each axis reset to today's value, alone. A reset that is not
// worse becomes the best setting.
func (s *search) reset() error {
	if !s.Resets || len(s.Axes) < 2 {
		return nil
	}
	s.left += len(s.Axes) * s.Seeds
	for j := range s.Axes {
		best := s.best(balanced)
		if best == nil {
			return nil
		}
		setting := s.without(best, j)
		if setting == nil {
			continue
		}
		e := s.known[fmt.Sprint(setting)]
		if e == nil {
			e = s.add(setting)
		}
		if e.State == Invalid || e.State == Complete || s.left < s.Seeds {
			continue
		}
		var trials []Trial
		for seed := len(e.Outcomes); seed < s.Seeds; seed++ {
			trials = append(trials, Trial{setting, seed})
		}
		e.State = Complete
		if err := s.trials(trials, e.take); err != nil {
			return err
		}
		s.left -= len(trials)
	}
	return nil
}

// without returns the levels of an entry with today's value on an axis, or nil if the entry has
// it, or today's value is not a level.
func (s *search) without(e *Entry, axis int) []int {
	today := s.Axes[axis].Today
	if e.Setting == nil || today < 0 || e.Setting[axis] == today {
		return nil
	}
	setting := slices.Clone(e.Setting)
	setting[axis] = today
	return setting
}

// conclude selects the settings that the result names.
func (s *search) conclude() {
	r := s.result
	for _, e := range r.Entries {
		if e.State == Invalid || len(e.Outcomes) == 0 {
			continue
		}
		if r.Closest == nil || e.Violation() < r.Closest.Violation() {
			r.Closest = e
		}
	}
	if best := s.best(balanced); best != nil && best.Violation() == 0 {
		r.Best = best
		for j := range s.Axes {
			var reset *Entry
			if setting := s.without(best, j); setting != nil {
				if e := s.known[fmt.Sprint(setting)]; e != nil && len(e.Outcomes) == s.Seeds {
					reset = e
				}
			}
			r.Resets = append(r.Resets, reset)
		}
	}
	if s.Goals == 2 {
		r.Front = s.front()
	}
}
