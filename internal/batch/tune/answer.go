package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/optimise"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/metrics"
)

// Verdict is the outcome of a search in one word.
type Verdict string

// Verdicts.
const (
	Improved   Verdict = "improved"   // a goal is better beyond noise, and none is worse
	Noise      Verdict = "noise"      // the gain is within noise
	Mixed      Verdict = "mixed"      // one goal is better beyond noise, the other one worse
	Worse      Verdict = "worse"      // today's setting is better with fresh seeds
	Today      Verdict = "today"      // no setting is better than today's
	Infeasible Verdict = "infeasible" // no setting satisfies the constraints
)

// Answer is tune.json: the outcome of a study.
type Answer struct {
	Schema      int         `json:"schema"`
	Scenario    string      `json:"scenario"`
	Verdict     Verdict     `json:"verdict"`
	Message     string      `json:"message"`
	Goals       []AskedGoal `json:"goals"`
	Constraints []string    `json:"constraints"`
	Keys        []Key       `json:"keys"`
	Seeds       []uint64    `json:"seeds"`
	Fresh       []uint64    `json:"fresh_seeds"` // only today's and the best setting ran with them
	Runs        int         `json:"runs"`
	MaxRuns     int         `json:"max_runs"`
	Exhausted   bool        `json:"exhausted"` // every combination of values was tried
	Gains       []Gain      `json:"gains"`     // by goal; empty if today's setting is the best
	Best        int         `json:"best"`      // index in settings; -1: none
	Closest     int         `json:"closest"`   // setting that violates the constraints least
	Front       []int       `json:"tradeoff"`  // with two goals: settings that no other one dominates
	Set         []string    `json:"set"`       // changes as KEY=VALUE, for --set
	Invalid     int         `json:"invalid"`   // settings that cannot run, such as kmin above kmax
	Notes       []string    `json:"notes"`     // keys that do not reach the whole fabric
	Settings    []Setting   `json:"settings"`  // in the order in which they were tried; the first is today's

	ranges []*Range
	study  *Study
	best   []int // levels of the best setting; nil: none, or today's
}

// AskedGoal is a metric and its direction.
type AskedGoal struct {
	Metric string `json:"metric"`
	Goal   string `json:"goal"` // lower or higher
}

// Key is a varied key.
type Key struct {
	Key   string `json:"key"`
	Scale Scale  `json:"scale"`
	Range string `json:"range"`
	Today string `json:"today"` // "" if unknown
	Best  string `json:"best"`
	// Reset has, by goal, the best setting with today's value of the key minus the best
	// setting, seed by seed; null if the key keeps its value.
	Reset []sweep.Difference `json:"reset"`
	// ResetViolates is the constraint that the best setting with today's value violates.
	ResetViolates string `json:"reset_violates,omitempty"`
}

// Gain compares the best setting with today's by one goal.
type Gain struct {
	Metric     string           `json:"metric"`
	Today      sweep.Sample     `json:"today"`
	Best       sweep.Sample     `json:"best"`
	Difference sweep.Difference `json:"difference"` // best minus today's, seed by seed
	Better     bool             `json:"better"`     // beyond noise
	Worse      bool             `json:"worse"`      // beyond noise
}

// Setting is a setting that was tried.
type Setting struct {
	Values   []string        `json:"values"` // by key
	State    string          `json:"state"`
	Seeds    int             `json:"seeds"`    // number of seeds of the search that it ran with
	Goals    []*sweep.Sample `json:"goals"`    // over these seeds; null if unknown
	Violates []string        `json:"violates"` // constraints, with the first seed that violates them
	levels   []int
}

// schema is the version of tune.json.
const schema = 1

// answer turns the result of a search into an answer.
func (s *Study) answer(r *optimise.Result) (*Answer, error) {
	a := &Answer{
		Schema: schema, Scenario: s.rows[0].Point.Config.Name, Seeds: s.Seeds, Fresh: append([]uint64{}, s.Fresh...), Runs: r.Runs, MaxRuns: s.Runs,
		Exhausted: r.Exhausted, Best: -1, Closest: -1, Gains: []Gain{}, Front: []int{}, Set: []string{}, Constraints: []string{}, Notes: append([]string{}, s.Notes...), ranges: s.Ranges, study: s,
	}
	for _, g := range s.Goals {
		a.Goals = append(a.Goals, AskedGoal{g.Metric, map[bool]string{false: "lower", true: "higher"}[g.Maximise]})
	}
	for i := range s.Limits {
		c := &s.Limits[i]
		a.Constraints = append(a.Constraints, fmt.Sprintf("%s %s %s", metrics.Title(c.Metric), c.Op, metrics.Exact(c.Metric, c.Value)))
	}
	at := make(map[*optimise.Entry]int)
	for i, e := range r.Entries {
		at[e] = i
		a.Settings = append(a.Settings, s.setting(e))
		if e.State == optimise.Invalid {
			a.Invalid++
		}
	}
	if a.Invalid > 0 && a.Invalid == len(r.Entries)-1 {
		return nil, s.invalid // no setting can run
	}
	for _, e := range r.Front {
		a.Front = append(a.Front, at[e])
	}
	if r.Closest != nil {
		a.Closest = at[r.Closest]
	}
	if r.Best != nil {
		a.Best, a.best = at[r.Best], r.Best.Setting
	}
	for i, k := range s.Ranges {
		key := Key{Key: k.Key, Scale: k.Scale, Range: k.Text(), Today: s.today[i], Best: s.today[i]}
		if a.best != nil {
			key.Best = k.Values[a.best[i]]
			if level := k.insert(s.today[i]); level != a.best[i] {
				a.Set = append(a.Set, k.Key+"="+key.Best)
			}
			if r.Resets[i] != nil {
				if x := a.Settings[at[r.Resets[i]]]; len(x.Violates) > 0 {
					key.ResetViolates = x.Violates[0]
				} else {
					key.Reset = s.differences(r.Resets[i], r.Best, 0, len(s.Seeds))
				}
			}
		}
		a.Keys = append(a.Keys, key)
	}
	s.judge(a, r)
	return a, nil
}

// setting describes an entry.
func (s *Study) setting(e *optimise.Entry) Setting {
	x := Setting{Values: s.values(e.Setting), State: string(e.State), Seeds: len(e.Outcomes), levels: e.Setting, Goals: make([]*sweep.Sample, len(s.Goals)), Violates: []string{}}
	for g := range s.Goals {
		if sample, ok := sweep.SampleOf(s.sampled(e, g, 0, len(e.Outcomes))); ok && !math.IsNaN(sample.Mean) {
			x.Goals[g] = &sample
		}
	}
	seen := make(map[string]bool) // constraints
	for i := range len(e.Outcomes) + len(e.Fresh) {
		seed := i
		if i >= len(e.Outcomes) {
			seed = len(s.Seeds) + i - len(e.Outcomes)
		}
		for _, text := range s.found[name(e.Setting, seed)].broken {
			if kind, _, _ := strings.Cut(text, " is "); !seen[kind] {
				seen[kind] = true
				x.Violates = append(x.Violates, fmt.Sprintf("%s, seed %d", text, s.Grid.Seeds[seed]))
			}
		}
	}
	return x
}

// sampled returns the values of a goal with the seeds from from to to.
func (s *Study) sampled(e *optimise.Entry, goal, from, to int) []float64 {
	var list []float64
	for seed := from; seed < to; seed++ {
		list = append(list, s.found[name(e.Setting, seed)].values[goal])
	}
	return list
}

// differences compares entries by each goal, seed by seed.
func (s *Study) differences(e, with *optimise.Entry, from, to int) []sweep.Difference {
	var list []sweep.Difference
	for g := range s.Goals {
		list = append(list, sweep.Paired(s.sampled(e, g, from, to), s.sampled(with, g, from, to)))
	}
	return list
}

// same reports whether every setting has today's goals with each of its seeds, and the number of
// settings.
func (s *Study) same(r *optimise.Result) (int, bool) {
	today, n := r.Entries[0], 0
	for _, e := range r.Entries {
		seeds := min(len(e.Outcomes), len(today.Outcomes))
		if e.State == optimise.Invalid || seeds == 0 {
			continue
		}
		n++
		for g := range s.Goals {
			if !slices.Equal(s.sampled(e, g, 0, seeds), s.sampled(today, g, 0, seeds)) {
				return 0, false
			}
		}
	}
	return n, n > 1
}

// keyNames lists the varied keys, with a verb.
func (a *Answer) keyNames() string {
	var names []string
	for _, k := range a.Keys {
		names = append(names, k.Key)
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, " and ") + " are"
}

// judge compares the best setting with today's and sets the verdict.
func (s *Study) judge(a *Answer, r *optimise.Result) {
	if r.Best == nil {
		a.Verdict = Infeasible
		a.Message = "no setting satisfies the constraints"
		if a.Closest >= 0 {
			c := &a.Settings[a.Closest]
			a.Message += fmt.Sprintf("; closest: %s: %s", a.text(c), strings.Join(c.Violates, "; "))
		}
		return
	}
	today := r.Entries[0]
	if r.Best == today {
		a.Verdict, a.Message = Today, "no setting is better than today's"
		if n, same := s.same(r); same {
			a.Message += fmt.Sprintf(": all %d settings give equal goals, so %s without effect here", n, a.keyNames())
		}
		return
	}
	from, to := 0, len(s.Seeds)
	if s.Confirm > 0 {
		from, to = len(s.Seeds), len(s.Grid.Seeds)
	}
	better, worse := false, false
	for g, d := range s.differences(r.Best, today, from, to) {
		gain := Gain{Metric: s.Goals[g].Metric, Difference: d}
		gain.Today, _ = sweep.SampleOf(s.sampled(today, g, from, to))
		gain.Best, _ = sweep.SampleOf(s.sampled(r.Best, g, from, to))
		if d.ExcludesZero() {
			gain.Better = s.Goals[g].cost(d.Mean) < 0
			gain.Worse = !gain.Better
		}
		better, worse = better || gain.Better, worse || gain.Worse
		a.Gains = append(a.Gains, gain)
	}
	// Today's setting violates constraints: any setting that does not is better.
	if today.Violation() > 0 {
		a.Verdict, a.Gains = Improved, a.known()
		a.Message = "today's setting violates the constraints, the best one does not: " + strings.Join(a.Settings[0].Violates, "; ")
		return
	}
	switch {
	case better && worse:
		a.Verdict, a.Message = Mixed, "one goal is better beyond noise, the other one worse"
	case better:
		a.Verdict, a.Message = Improved, "better than today's setting beyond noise"
	case worse:
		a.Verdict, a.Message = Worse, "today's setting is better with fresh seeds; keep it"
	default:
		a.Verdict, a.Message = Noise, "the gain is within noise: the 95 % interval of the difference includes 0"
	}
}

// known returns the gains whose values are all known.
func (a *Answer) known() []Gain {
	list := []Gain{}
	for _, g := range a.Gains {
		if !math.IsNaN(g.Today.Mean) && !math.IsNaN(g.Best.Mean) {
			list = append(list, g)
		}
	}
	return list
}

// text describes a setting in one line.
func (a *Answer) text(x *Setting) string {
	if x.levels == nil {
		return "today's setting"
	}
	var keys, list []string
	for _, k := range a.ranges {
		keys = append(keys, k.Key)
	}
	for i, k := range sweep.ShortKeys(keys) {
		list = append(list, k+"="+sweep.ShortValue(x.Values[i]))
	}
	return strings.Join(list, " ")
}
