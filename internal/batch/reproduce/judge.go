package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// runs has the values of a claim, by position and seed.
type runs struct {
	positions  []pair
	own, other [][]float64
	once       bool // seeds change none of the runs: each counts once
	unit       string
}

// read returns the values of a claim, or false if a run has no value.
func (e *Experiment) read(r *Result, c *Claim, positions []pair) (*runs, bool) {
	s := &runs{positions: positions, once: true, unit: e.unitOf(c)}
	for _, p := range positions {
		v, ok := r.series(e, p.at, c.Metric, c.Statistic)
		if !ok {
			return nil, false
		}
		s.own = append(s.own, v)
		s.once = s.once && r.sameForAllSeeds(p.at)
		for _, q := range p.against {
			w, ok := r.series(e, q, c.Metric, c.Statistic)
			if !ok || len(w) != len(v) {
				return nil, false
			}
			s.other = append(s.other, w)
			s.once = s.once && r.sameForAllSeeds(q)
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

// compute applies the operator of a claim.
func (e *Experiment) compute(r *Result, c *Claim, positions []pair) *Judged {
	s, ok := e.read(r, c, positions)
	if !ok {
		return &Judged{Verdict: Inconclusive, Ours: "-", Brief: "-", Reason: "a run lacks the value"}
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
	case opZero, opNonzero:
		return s.judgeZero(c.Operator)
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
	v, _ := strconv.ParseFloat(text, 64) // valid: checked by checker.claim
	return v
}

// certain reports whether the number is more than one random sample: it has an interval, or
// no seed changes it.
func (j *Judged) certain() bool { return j.Known || j.Once }

// percent returns a change in per cent.
func (s *runs) percent(value, low, high float64, known bool) *Judged {
	j := &Judged{Value: value, Low: low, High: high, Known: known, Once: s.once}
	if s.once {
		j.Low, j.High = value, value
	}
	j.Brief = fmt.Sprintf("%+.1f %%", value)
	j.Ours = s.noteOnce(interval(j, "%+.1f", " %"))
	return j
}

// noteOnce appends a note if the number is from a single run.
func (s *runs) noteOnce(text string) string {
	if s.once {
		return text + oneRun
	}
	return text
}

const oneRun = " (one run)"

var zeroBase = Judged{Verdict: Inconclusive, Ours: "-", Brief: "-", Reason: "the baseline is zero"}

// change returns the change at a position, seed by seed: the change of the mean in per cent
// of the baseline's mean, with the interval of the paired difference.
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

// paperChange returns the paper's change in per cent of a claim with change or ratio.
func (c *Claim) paperChange() float64 {
	v := number64(c.Paper)
	if c.Operator == opRatio {
		return 100 * (v - 1)
	}
	return v
}

// judgeChange judges the change from a baseline: at one position, at the position with the
// smallest change in the paper's direction, or on average.
func (s *runs) judgeChange(c *Claim) *Judged {
	paper := c.paperChange()
	if c.X == xMean {
		return verdictOfChange(s.meanChange(), paper)
	}
	var least *Judged
	for i := range s.own {
		j, ok := s.change(i)
		if !ok {
			return j
		}
		if len(s.own) > 1 {
			j.At = s.positions[i].at.X
		}
		if least == nil || further(j, least, paper) < 0 {
			least = j
		}
	}
	return verdictOfChange(least, paper)
}

// further returns how much further j is than other in the paper's direction.
func further(j, other *Judged, paper float64) float64 {
	return math.Copysign(1, paper) * (j.Value - other.Value)
}

// meanChange averages the change over all positions, seed by seed.
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

// verdictOfChange sets the verdict. A direction counts only if the interval of the paired
// difference excludes zero; then the size is graded. A paper's figure near zero has no
// direction: only its distance counts.
func verdictOfChange(j *Judged, paper float64) *Judged {
	if j.Verdict != "" {
		return j
	}
	switch {
	case !j.certain():
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case math.Abs(paper) <= noDirection:
		j.gradeRange(paper, closePoints, roughlyPoints)
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

// judgeLessens compares the change in the claim's case with the change in the baseline's
// case, seed by seed, in percentage points. An advantage is a decrease.
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
	j.Ours = s.noteOnce(fmt.Sprintf("%s: %s", j.Brief, interval(j, "%+.1f", " points")))
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

// bound returns the maximum difference from the baseline for about, in percentage points.
func (c *Claim) bound() float64 {
	if c.Paper != "" {
		return math.Abs(number64(c.Paper))
	}
	return c.Within
}

// judgeAbout compares the change with a bound; the worst position counts. If the scheme in
// Breaks stays within the bound as well, the claim is inconclusive.
func (e *Experiment) judgeAbout(r *Result, c *Claim, s *runs) *Judged {
	var worst *Judged
	for i := range s.own {
		j, ok := s.change(i)
		if !ok {
			return j
		}
		j.gradeBound(-c.bound(), c.bound())
		if len(s.own) > 1 {
			j.At = s.positions[i].at.X
		}
		if worst == nil || j.Verdict.rank() > worst.Verdict.rank() || j.Verdict == worst.Verdict && math.Abs(j.Value) > math.Abs(worst.Value) {
			worst = j
		}
	}
	if worst.Verdict == Close && c.Breaks != "" && !e.broken(r, c) {
		worst.Verdict, worst.Reason = Inconclusive, c.Breaks+" stays within the bound as well"
	}
	return worst
}

// broken reports whether the scheme in Breaks exceeds the bound of a claim somewhere.
func (e *Experiment) broken(r *Result, c *Claim) bool {
	other := *c
	other.Scheme = c.Breaks
	positions, ok := e.positionsOf(r, &other)
	if !ok {
		return false
	}
	s, ok := e.read(r, &other, positions)
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

// gradeBound grades a bound: close if the whole interval is inside, not reproduced if it is
// outside, inconclusive if it includes the bound.
func (j *Judged) gradeBound(low, high float64) {
	switch {
	case !j.certain():
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case j.Low >= low && j.High <= high:
		j.Verdict = Close
	case j.High < low || j.Low > high:
		j.Verdict = NotReproduced
	default:
		j.Verdict, j.Reason = Inconclusive, "the interval includes the bound"
	}
}

// judgeOrder compares each pair of neighbours in the order.
func (s *runs) judgeOrder() *Judged {
	j := &Judged{Verdict: Close, Once: s.once}
	var parts, failed []string
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
		a, b := s.positions[i].at, s.positions[i].against[0]
		text := fmt.Sprintf("%s %s %s", a.Scheme, sign, b.Scheme)
		switch {
		case a.Scheme == b.Scheme:
			text = fmt.Sprintf("%s %s %s", a.X, sign, b.X)
		case a.X != "":
			text += " at " + a.X
		}
		parts = append(parts, text)
		if sign != "<" {
			failed = append(failed, text)
		}
	}
	j.Ours = s.noteOnce(strings.Join(parts, ", "))
	switch len(failed) {
	case 0:
		j.Brief = "the same"
	case 1, 2:
		j.Brief = strings.Join(failed, ", ")
	default:
		j.Brief = fmt.Sprintf("%s and %d more", failed[0], len(failed)-1)
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

// judgeZero requires zero, or nonzero, in every seed at every position. One exception is
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

// sample returns the mean of values over seeds with its interval.
func (s *runs) sample(values []float64) *Judged {
	x := sample(values)
	j := &Judged{Value: x.Mean, Low: x.Mean - x.Half, High: x.Mean + x.Half, Known: x.N > 1, Once: s.once}
	j.Brief = printed(x.Mean, s.unit)
	j.Ours = s.noteOnce(j.Brief)
	if x.N > 1 {
		j.Ours = withUnit(plusMinus(x.Mean, x.Half), s.unit)
	}
	return j
}

// judgeBound requires a value above or below a number at every position; the worst one
// counts.
func (s *runs) judgeBound(operator string, paper float64) *Judged {
	low, high, sign := math.Nextafter(paper, math.Inf(1)), math.Inf(1), 1.0
	if operator == opBelow {
		low, high, sign = math.Inf(-1), math.Nextafter(paper, math.Inf(-1)), -1.0
	}
	var worst *Judged
	for i, values := range s.own {
		j := s.sample(values)
		j.gradeBound(low, high)
		if len(s.own) > 1 {
			j.At = s.positions[i].at.X
		}
		if worst == nil || j.Verdict.rank() > worst.Verdict.rank() || j.Verdict == worst.Verdict && sign*(j.Value-worst.Value) < 0 {
			worst = j
		}
	}
	return worst
}

// judgeValue grades a number by its ratio to the paper's. It uses no percentage points:
// within 15 points, a value of 20 % would be roughly a value of 5 %.
func (s *runs) judgeValue(paper float64) *Judged {
	j := s.sample(s.own[0])
	if !j.certain() {
		j.Verdict, j.Reason = Inconclusive, "one seed"
		return j
	}
	j.gradeRange(paper, closeFraction*math.Abs(paper), roughlyFraction*math.Abs(paper))
	return j
}

// gradeRange grades a number by its distance from the paper's. It is inconclusive if the
// interval includes the bound of roughly.
func (j *Judged) gradeRange(paper, near, roughly float64) {
	switch {
	case j.High < paper-roughly || j.Low > paper+roughly:
		j.Verdict = NotReproduced
	case j.Low < paper-roughly || j.High > paper+roughly:
		j.Verdict, j.Reason = Inconclusive, "the interval includes the bound"
	case math.Abs(j.Value-paper) <= near:
		j.Verdict = Close
	default:
		j.Verdict = Roughly
	}
}

// judgeEqual requires the digits of the paper, rounded or truncated.
func (s *runs) judgeEqual(paper string) *Judged {
	values := s.own[0]
	j := s.sample(values)
	j.Ours = j.Brief // computed: no interval
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
