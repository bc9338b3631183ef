package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// runs are the values that a claim is about, by place and seed.
type runs struct {
	places     []pair
	own, other [][]float64
	once       bool // seeds change none of the runs: there is one of each
	unit       string
}

// read returns the runs of a claim; false when one has no value.
func (e *Experiment) read(r *Result, c *Claim, places []pair) (*runs, bool) {
	s := &runs{places: places, once: true, unit: e.unitOf(c)}
	for _, p := range places {
		v, ok := r.series(e, p.at, c.Metric, c.Statistic)
		if !ok {
			return nil, false
		}
		s.own = append(s.own, v)
		s.once = s.once && r.once(p.at)
		for _, q := range p.against {
			w, ok := r.series(e, q, c.Metric, c.Statistic)
			if !ok || len(w) != len(v) {
				return nil, false
			}
			s.other = append(s.other, w)
			s.once = s.once && r.once(q)
		}
	}
	if s.once {
		for _, list := range [][][]float64{s.own, s.other} {
			for i := range list {
				list[i] = list[i][:1]
			}
		}
	}
	return s, true
}

// compute applies the operator.
func (e *Experiment) compute(r *Result, c *Claim, places []pair) *Judged {
	s, ok := e.read(r, c, places)
	if !ok {
		return &Judged{Verdict: Inconclusive, Ours: "-", Brief: "-", Reason: "a run has no such value"}
	}
	switch c.Operator {
	case opChange, opRatio:
		return s.judgeChange(c)
	case opLessens:
		return s.judgeLessens()
	case opAbout:
		return e.judgeAbout(r, c, s)
	case opOrder:
		return s.judgeOrder()
	case opZero:
		return s.judgeZero(c.Operator)
	case opNonzero:
		return s.judgeNonzero(c)
	case opEqual:
		return s.judgeEqual(c.Paper)
	case opAbove, opBelow:
		return s.judgeBound(c.Operator, number64(c.Paper))
	default:
		return s.judgeValue(number64(c.Paper))
	}
}

func (e *Experiment) unitOf(c *Claim) string {
	switch {
	case strings.HasPrefix(c.Statistic, "below "):
		return "%"
	case c.Statistic == "count":
		return ""
	}
	return e.metric(c.Metric).Unit
}

func number64(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64) // checked when it was read
	return v
}

// certain reports whether the number is more than one draw: it has an interval, or no
// seed changes it.
func (j *Judged) certain() bool { return j.Known || j.Once }

// percent finishes a change in per cent.
func (s *runs) percent(value, low, high float64, known bool) *Judged {
	j := &Judged{Value: value, Low: low, High: high, Known: known, Once: s.once}
	if s.once {
		j.Low, j.High = value, value
	}
	j.Brief = fmt.Sprintf("%+.1f %%", value)
	j.Ours = s.called(interval(j, "%+.1f", " %"))
	return j
}

// called says of a number that there is one run behind it.
func (s *runs) called(text string) string {
	if s.once {
		return text + oneRun
	}
	return text
}

const oneRun = " (one run)"

var zeroBase = Judged{Verdict: Inconclusive, Ours: "-", Brief: "-", Reason: "the baseline is zero"}

// change compares two samples seed by seed: the change of the mean in per cent of
// the mean of the baseline, with the interval of the paired difference.
func (s *runs) change(i int) (*Judged, bool) {
	a, b := s.own[i], s.other[i]
	base := mean(b)
	if base == 0 {
		j := zeroBase
		return &j, false
	}
	d := sweep.Paired(a, b)
	return s.percent(100*d.Mean/base, 100*d.Low/base, 100*d.High/base, d.Known), true
}

// judgeChange judges the change against a baseline: at one place, at the place of
// the sweep where it is most or least in the paper's direction, or on average.
func (s *runs) judgeChange(c *Claim) *Judged {
	paper := number64(c.Paper)
	if c.Operator == opRatio {
		paper = 100 * (paper - 1)
	}
	if c.X == xMean {
		return verdictOfChange(s.meanChange(), paper)
	}
	var best *Judged
	for i := range s.own {
		j, ok := s.change(i)
		if !ok {
			return j
		}
		if len(s.own) > 1 {
			j.At = s.places[i].at.X
		}
		if best == nil {
			best = j
			continue
		}
		further := math.Copysign(1, paper) * (j.Value - best.Value)
		if c.X == xMost && further > 0 || c.X == xLeast && further < 0 {
			best = j
		}
	}
	return verdictOfChange(best, paper)
}

// meanChange averages the change over the places, seed by seed.
func (s *runs) meanChange() *Judged {
	n := len(s.own[0])
	changes, zeros := make([]float64, n), make([]float64, n)
	for i := range n {
		for k := range s.own {
			if s.other[k][i] == 0 {
				j := zeroBase
				return &j
			}
			changes[i] += 100 * (s.own[k][i] - s.other[k][i]) / s.other[k][i] / float64(len(s.own))
		}
	}
	d := sweep.Paired(changes, zeros)
	return s.percent(d.Mean, d.Low, d.High, d.Known)
}

// verdictOfChange applies the rule: a direction counts only when the interval of
// the paired difference excludes zero; then the size is graded.
func verdictOfChange(j *Judged, paper float64) *Judged {
	if j.Verdict != "" {
		return j
	}
	switch {
	case !j.certain():
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case j.Once && j.Value == 0:
		j.Verdict, j.Reason = NotReproduced, "no difference"
	case j.Low <= 0 && j.High >= 0:
		j.Verdict, j.Reason = Inconclusive, "the interval includes zero"
	case math.Signbit(j.Value) != math.Signbit(paper):
		j.Verdict = NotReproduced
	default:
		j.Verdict = gradeChange(j.Value, paper)
	}
	return j
}

// judgeLessens compares the change in the claim's case with that in the baseline's,
// seed by seed, in percentage points: an advantage is a decrease.
func (s *runs) judgeLessens() *Judged {
	n := len(s.own[0])
	here, there := make([]float64, n), make([]float64, n)
	for i := range n {
		own, base, ownThere, baseThere := s.own[0][i], s.other[0][i], s.other[1][i], s.other[2][i]
		if base == 0 || baseThere == 0 {
			j := zeroBase
			return &j
		}
		here[i], there[i] = 100*(own-base)/base, 100*(ownThere-baseThere)/baseThere
	}
	d := sweep.Paired(here, there)
	j := s.percent(d.Mean, d.Low, d.High, d.Known)
	j.Brief = fmt.Sprintf("%+.1f instead of %+.1f %%", mean(here), mean(there))
	j.Ours = s.called(fmt.Sprintf("%s: %s", j.Brief, interval(j, "%+.1f", " points")))
	switch {
	case !j.certain():
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case j.Low <= 0 && j.High >= 0 && !j.Once:
		j.Verdict, j.Reason = Inconclusive, "the interval includes zero"
	case j.Value <= 0:
		j.Verdict = NotReproduced
	default:
		j.Verdict = Close
	}
	return j
}

// bound is how far about lets a scheme be from its baseline, in percentage points.
func (c *Claim) bound() float64 {
	if c.Paper != "" {
		return math.Abs(number64(c.Paper))
	}
	return c.Within
}

// judgeAbout holds "comparable" against a bound; the worst place counts. A bound that a
// worse scheme keeps, too, says nothing.
func (e *Experiment) judgeAbout(r *Result, c *Claim, s *runs) *Judged {
	var worst *Judged
	for i := range s.own {
		j, ok := s.change(i)
		if !ok {
			return j
		}
		j.beyond(-c.bound(), c.bound())
		if len(s.own) > 1 {
			j.At = s.places[i].at.X
		}
		if worst == nil || j.Verdict.rank() > worst.Verdict.rank() || j.Verdict == worst.Verdict && math.Abs(j.Value) > math.Abs(worst.Value) {
			worst = j
		}
	}
	if worst.Verdict == Close && c.Breaks != "" && !e.broken(r, c) {
		worst.Verdict, worst.Reason = Inconclusive, c.Breaks+" does not break the bound either"
	}
	return worst
}

// broken reports whether the scheme that must break the bound of a claim does so.
func (e *Experiment) broken(r *Result, c *Claim) bool {
	other := *c
	other.Scheme = c.Breaks
	places, there := e.placesOf(r, &other)
	if !there {
		return false
	}
	s, ok := e.read(r, &other, places)
	if !ok {
		return false
	}
	for i := range s.own {
		if j, ok := s.change(i); ok && j.certain() && (j.High < -c.bound() || j.Low > c.bound()) {
			return true
		}
	}
	return false
}

// beyond grades a bound: the whole interval keeps it, or the claim is not reproduced.
func (j *Judged) beyond(low, high float64) {
	switch {
	case !j.certain():
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case j.Low >= low && j.High <= high:
		j.Verdict = Close
	case j.High < low || j.Low > high:
		j.Verdict = NotReproduced
	default:
		j.Verdict, j.Reason = NotReproduced, "the interval includes the bound"
	}
}

// judgeOrder compares neighbours of the order.
func (s *runs) judgeOrder() *Judged {
	j := &Judged{Verdict: Close, Once: s.once}
	var parts []string
	for i := range s.own {
		d := sweep.Paired(s.own[i], s.other[i])
		sign := "<"
		switch {
		case s.once && d.Mean != 0 || d.ExcludesZero():
			if d.Mean > 0 {
				sign = ">"
				j.Verdict, j.Reason = NotReproduced, ""
			}
		case s.once:
			sign = "="
			j.Verdict, j.Reason = NotReproduced, ""
		default:
			sign = "~"
			if j.Verdict == Close {
				j.Verdict, j.Reason = Inconclusive, "an interval includes zero"
			}
		}
		a, b := s.places[i].at, s.places[i].against[0]
		text := fmt.Sprintf("%s %s %s", a.Scheme, sign, b.Scheme)
		switch {
		case a.Scheme == b.Scheme:
			text = fmt.Sprintf("%s %s %s", a.X, sign, b.X)
		case a.X != "":
			text += " at " + a.X
		}
		parts = append(parts, text)
	}
	j.Brief = strings.Join(parts, ", ")
	j.Ours = s.called(j.Brief)
	return j
}

// judgeNonzero takes every place, or the one of the sweep where most seeds have
// something, the first of several.
func (s *runs) judgeNonzero(c *Claim) *Judged {
	if c.X != xMost {
		return s.judgeZero(c.Operator)
	}
	best, most := 0, -1
	for i, v := range s.own {
		if n := countNonzero(v); n > most {
			best, most = i, n
		}
	}
	one := &runs{own: s.own[best : best+1], once: s.once, unit: s.unit}
	j := one.judgeZero(c.Operator)
	if len(s.own) > 1 {
		j.At = s.places[best].at.X
	}
	return j
}

func countNonzero(values []float64) int {
	n := 0
	for _, v := range values {
		if v != 0 {
			n++
		}
	}
	return n
}

// judgeZero wants the same of every seed at every place; one run that has it not is
// enough to refute the claim.
func (s *runs) judgeZero(operator string) *Judged {
	flat := slices.Concat(s.own...)
	j := s.sample(flat)
	all, wanted := len(flat), countNonzero(flat)
	if operator == opZero {
		wanted = all - wanted
	}
	switch wanted {
	case all:
		j.Verdict = Close
	case 0:
		j.Verdict = NotReproduced
	default:
		j.Verdict, j.Reason = NotReproduced, fmt.Sprintf("%d of %d runs", wanted, all)
	}
	return j
}

// sample is the mean of values over seeds.
func (s *runs) sample(values []float64) *Judged {
	x := sample(values)
	j := &Judged{Value: x.Mean, Low: x.Mean - x.Half, High: x.Mean + x.Half, Known: x.N > 1, Once: s.once}
	j.Brief = printed(x.Mean, s.unit)
	j.Ours = s.called(j.Brief)
	if x.N > 1 {
		j.Ours = withUnit(plusMinus(x.Mean, x.Half), s.unit)
	}
	return j
}

// judgeBound wants every place beyond a number; the worst one counts.
func (s *runs) judgeBound(operator string, paper float64) *Judged {
	low, high, sign := math.Nextafter(paper, math.Inf(1)), math.Inf(1), 1.0
	if operator == opBelow {
		low, high, sign = math.Inf(-1), math.Nextafter(paper, math.Inf(-1)), -1.0
	}
	var worst *Judged
	for i, values := range s.own {
		j := s.sample(values)
		j.beyond(low, high)
		if len(s.own) > 1 {
			j.At = s.places[i].at.X
		}
		if worst == nil || j.Verdict.rank() > worst.Verdict.rank() || j.Verdict == worst.Verdict && sign*(j.Value-worst.Value) < 0 {
			worst = j
		}
	}
	return worst
}

// judgeValue grades a number by its ratio to the paper's. An interval that reaches out
// of what counts as roughly the same cannot tell.
func (s *runs) judgeValue(paper float64) *Judged {
	j := s.sample(s.own[0])
	half := roughlyShare * math.Abs(paper)
	switch {
	case !j.certain():
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case j.High < paper-half || j.Low > paper+half:
		j.Verdict = NotReproduced
	case j.Low < paper-half || j.High > paper+half:
		j.Verdict, j.Reason = Inconclusive, "the interval includes the bound"
	default:
		j.Verdict = gradeValue(j.Value, paper)
	}
	return j
}

// judgeEqual wants the digits that the paper prints, rounded or cut off there.
func (s *runs) judgeEqual(paper string) *Judged {
	values := s.own[0]
	j := s.sample(values)
	j.Ours = j.Brief // computed
	decimals := 0
	if _, fraction, ok := strings.Cut(paper, "."); ok {
		decimals = len(fraction)
	}
	j.Verdict = Close
	scale := math.Pow10(decimals)
	for _, v := range values {
		rounded := strconv.FormatFloat(v, 'f', decimals, 64)
		cut := strconv.FormatFloat(math.Trunc(v*scale)/scale, 'f', decimals, 64)
		if rounded != paper && cut != paper {
			j.Verdict = NotReproduced
		}
	}
	return j
}
