package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/sweep"
)

// Judged is a claim and how it came out.
type Judged struct {
	Claim   *Claim  `json:"-"`
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"` // empty: this scale has no such point
	Ours    string  `json:"ours"`    // the number, in words
	Value   float64 `json:"value"`
	Low     float64 `json:"low"` // of the 95 % interval
	High    float64 `json:"high"`
	Known   bool    `json:"known"` // there is an interval
	At      string  `json:"at,omitempty"`
	Reason  string  `json:"reason,omitempty"` // why it is inconclusive, in words

	Expected  Verdict    `json:"expected"`
	Deviation *Deviation `json:"-"`
}

// Surprise reports whether the verdict is another than the one that is written
// down.
func (j *Judged) Surprise() bool { return j.Verdict != "" && j.Verdict != j.Expected }

// Tolerances of the size of a change: the wider of these.
const (
	tolerancePoints = 15.0 // percentage points
	toleranceShare  = 0.5  // of the paper's figure
)

// Judge holds the claims of an experiment against its results.
func (e *Experiment) Judge(r *Result) []*Judged {
	var list []*Judged
	for i := range e.Claims {
		c := &e.Claims[i]
		j := e.judge(r, c)
		j.Claim, j.ID = c, c.ID
		j.Expected, j.Deviation = e.Expected(c.ID, r.Scale)
		list = append(list, j)
	}
	return list
}

func (c *Claim) isSweep() bool { return c.X == xMost || c.X == xLeast || c.X == xMean || c.X == xAll }

// judge decides about one claim.
func (e *Experiment) judge(r *Result, c *Claim) *Judged {
	places, there := e.placesOf(r, c)
	if !there {
		return &Judged{Reason: "this scale has no such point"}
	}
	j := e.compute(r, c, places)
	var low []string
	for _, p := range places {
		for _, q := range append([]Place{p.at}, p.against...) {
			for _, f := range append(e.flags(r, q), r.failed(q)...) {
				if f = fmt.Sprintf("%s (%s)", f, q); !strings.Contains(strings.Join(low, "; "), f) {
					low = append(low, f)
				}
			}
		}
	}
	if len(low) > 0 {
		j.Verdict, j.Reason = Inconclusive, strings.Join(low, "; ")
	}
	return j
}

// pair is a place and what it is compared with.
type pair struct {
	at      Place
	against []Place // none, or one; all others of an order
}

// placesOf returns the places that a claim is about; false when the scale does not
// have them.
func (e *Experiment) placesOf(r *Result, c *Claim) ([]pair, bool) {
	have := r.places()
	values := []string{c.X}
	if c.isSweep() {
		values = e.Scale(r.Scale).X
	}
	schemes := c.Order
	if c.Operator != opOrder {
		schemes = []string{c.Scheme}
	}
	var list []pair
	for _, x := range values {
		for i, s := range schemes {
			p := pair{at: Place{c.Case, s, x}}
			switch {
			case c.Operator == opOrder:
				if i+1 == len(schemes) {
					continue
				}
				p.against = []Place{{c.Case, schemes[i+1], x}}
			case c.Baseline != Baseline{}:
				p.against = []Place{{or(c.Baseline.Case, c.Case), or(c.Baseline.Scheme, s), or(c.Baseline.X, x)}}
			}
			for _, q := range append([]Place{p.at}, p.against...) {
				if !contains(have, q) {
					return nil, false
				}
			}
			list = append(list, p)
		}
	}
	return list, true
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func contains(list []Place, p Place) bool {
	for _, q := range list {
		if p == q {
			return true
		}
	}
	return false
}

// compute applies the operator.
func (e *Experiment) compute(r *Result, c *Claim, places []pair) *Judged {
	unknown := &Judged{Verdict: Inconclusive, Ours: "-", Reason: "a run has no such value"}
	var own, other [][]float64
	for _, p := range places {
		v, ok := r.series(e, p.at, c.Metric, c.Statistic)
		if !ok {
			return unknown
		}
		own = append(own, v)
		for _, q := range p.against {
			w, ok := r.series(e, q, c.Metric, c.Statistic)
			if !ok || len(w) != len(v) {
				return unknown
			}
			other = append(other, w)
		}
	}
	unit := e.unitOf(c)
	switch c.Operator {
	case opChange, opRatio:
		return judgeChange(c, places, own, other)
	case opAbout:
		return judgeAbout(c, places, own, other)
	case opOrder:
		return judgeOrder(places, own, other)
	case opZero:
		return judgeZero(c.Operator, own, unit)
	case opNonzero:
		return judgeNonzero(c, places, own, unit)
	case opEqual:
		return judgeEqual(own[0], c.Paper, unit)
	default:
		return judgeValue(c.Operator, own[0], number64(c.Paper), unit)
	}
}

func (e *Experiment) unitOf(c *Claim) string {
	if strings.HasPrefix(c.Statistic, "below ") {
		return "%"
	}
	return e.metric(c.Metric).Unit
}

func number64(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64) // checked when it was read
	return v
}

// changeOf compares two samples seed by seed: the change of the mean in per cent of
// the mean of the baseline, with the interval of the paired difference.
func changeOf(a, b []float64) (*Judged, bool) {
	base := mean(b)
	if base == 0 {
		return &Judged{Verdict: Inconclusive, Ours: "-", Reason: "the baseline is zero"}, false
	}
	d := sweep.Paired(a, b)
	j := &Judged{Value: 100 * d.Mean / base, Low: 100 * d.Low / base, High: 100 * d.High / base, Known: d.Known}
	j.Ours = interval(j, "%+.1f", " %")
	return j, true
}

// judgeChange judges the change against a baseline: at one place, at the place of
// the sweep where it is most or least in the paper's direction, or on average.
func judgeChange(c *Claim, places []pair, own, other [][]float64) *Judged {
	paper := number64(c.Paper)
	if c.Operator == opRatio {
		paper = 100 * (paper - 1)
	}
	if c.X == xMean {
		return verdictOfChange(meanChange(own, other), paper)
	}
	var best *Judged
	for i := range own {
		j, ok := changeOf(own[i], other[i])
		if !ok {
			return j
		}
		if len(own) > 1 {
			j.At = places[i].at.X
		}
		toward := math.Copysign(1, paper) * j.Value
		if best == nil || c.X == xMost && toward > math.Copysign(1, paper)*best.Value || c.X == xLeast && toward < math.Copysign(1, paper)*best.Value {
			best = j
		}
	}
	return verdictOfChange(best, paper)
}

// meanChange averages the change over the places, seed by seed.
func meanChange(own, other [][]float64) *Judged {
	n := len(own[0])
	changes, zeros := make([]float64, n), make([]float64, n)
	for i := range n {
		for k := range own {
			if other[k][i] == 0 {
				return &Judged{Verdict: Inconclusive, Ours: "-", Reason: "the baseline is zero"}
			}
			changes[i] += 100 * (own[k][i] - other[k][i]) / other[k][i] / float64(len(own))
		}
	}
	d := sweep.Paired(changes, zeros)
	j := &Judged{Value: d.Mean, Low: d.Low, High: d.High, Known: d.Known}
	j.Ours = interval(j, "%+.1f", " %")
	return j
}

// verdictOfChange applies the rule: a direction counts only when the interval of
// the paired difference excludes zero; the size may be off by the wider of 15
// percentage points and half of the paper's figure.
func verdictOfChange(j *Judged, paper float64) *Judged {
	if j.Verdict != "" {
		return j
	}
	tolerance := max(tolerancePoints, toleranceShare*math.Abs(paper))
	switch {
	case !j.Known:
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case j.Low <= 0 && j.High >= 0:
		j.Verdict, j.Reason = Inconclusive, "the interval includes zero"
	case math.Signbit(j.Value) != math.Signbit(paper):
		j.Verdict = NotReproduced
	case math.Abs(j.Value-paper) <= tolerance:
		j.Verdict = Reproduced
	default:
		j.Verdict = DirectionOnly
	}
	return j
}

// judgeAbout holds "comparable" against 15 percentage points, or those of the paper;
// the worst place counts.
func judgeAbout(c *Claim, places []pair, own, other [][]float64) *Judged {
	rank := map[Verdict]int{Reproduced: 0, Inconclusive: 1, NotReproduced: 2}
	tolerance := tolerancePoints
	if c.Paper != "" {
		tolerance = math.Abs(number64(c.Paper))
	}
	var worst *Judged
	for i := range own {
		j, ok := changeOf(own[i], other[i])
		if !ok {
			return j
		}
		j.within(-tolerance, tolerance)
		if len(own) > 1 {
			j.At = places[i].at.X
		}
		if worst == nil || rank[j.Verdict] > rank[worst.Verdict] || j.Verdict == worst.Verdict && math.Abs(j.Value) > math.Abs(worst.Value) {
			worst = j
		}
	}
	return worst
}

// within decides whether the interval lies in a range.
func (j *Judged) within(low, high float64) {
	switch {
	case !j.Known:
		j.Verdict, j.Reason = Inconclusive, "one seed"
	case j.Low >= low && j.High <= high:
		j.Verdict = Reproduced
	case j.High < low || j.Low > high:
		j.Verdict = NotReproduced
	default:
		j.Verdict, j.Reason = Inconclusive, "the interval includes the bound"
	}
}

// judgeOrder compares neighbours of the order.
func judgeOrder(places []pair, own, other [][]float64) *Judged {
	j := &Judged{Verdict: Reproduced}
	var parts []string
	for i := range own {
		d := sweep.Paired(own[i], other[i])
		sign := "<"
		switch {
		case !d.ExcludesZero():
			sign = "~"
			if j.Verdict == Reproduced {
				j.Verdict, j.Reason = Inconclusive, "an interval includes zero"
			}
		case d.Mean > 0:
			sign = ">"
			j.Verdict, j.Reason = NotReproduced, ""
		}
		text := fmt.Sprintf("%s %s %s", places[i].at.Scheme, sign, places[i].against[0].Scheme)
		if x := places[i].at.X; x != "" {
			text += " at " + x
		}
		parts = append(parts, text)
	}
	j.Ours = strings.Join(parts, ", ")
	return j
}

// judgeNonzero takes every place, or the one of the sweep where most seeds have
// something, the first of several.
func judgeNonzero(c *Claim, places []pair, own [][]float64, unit string) *Judged {
	if c.X != xMost {
		return judgeZero(c.Operator, own, unit)
	}
	best, most := 0, -1
	for i, v := range own {
		if n := countNonzero(v); n > most {
			best, most = i, n
		}
	}
	j := judgeZero(c.Operator, own[best:best+1], unit)
	if len(own) > 1 {
		j.At = places[best].at.X
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

// judgeZero wants the same of every seed at every place.
func judgeZero(operator string, own [][]float64, unit string) *Judged {
	flat := slices.Concat(own...)
	j := ofSample(flat, unit)
	all, wanted := len(flat), countNonzero(flat)
	if operator == opZero {
		wanted = all - wanted
	}
	switch wanted {
	case all:
		j.Verdict = Reproduced
	case 0:
		j.Verdict = NotReproduced
	default:
		j.Verdict, j.Reason = Inconclusive, fmt.Sprintf("%d of %d runs", wanted, all)
	}
	return j
}

func ofSample(values []float64, unit string) *Judged {
	s := sample(values)
	j := &Judged{Value: s.Mean, Low: s.Mean - s.Half, High: s.Mean + s.Half, Known: s.N > 1}
	j.Ours = printed(s.Mean, unit)
	if s.N > 1 {
		j.Ours = withUnit(plusMinus(s.Mean, s.Half), unit)
	}
	return j
}

// judgeValue holds a number against the paper's: it may be off by half of it; or it
// must lie beyond a bound.
func judgeValue(operator string, values []float64, paper float64, unit string) *Judged {
	j := ofSample(values, unit)
	switch operator {
	case opAbove:
		j.within(math.Nextafter(paper, math.Inf(1)), math.Inf(1))
	case opBelow:
		j.within(math.Inf(-1), math.Nextafter(paper, math.Inf(-1)))
	default:
		half := toleranceShare * math.Abs(paper)
		j.within(paper-half, paper+half)
	}
	return j
}

// judgeEqual wants the digits that the paper prints, rounded or cut off there.
func judgeEqual(values []float64, paper, unit string) *Judged {
	j := ofSample(values, unit)
	decimals := 0
	if _, fraction, ok := strings.Cut(paper, "."); ok {
		decimals = len(fraction)
	}
	j.Verdict = Reproduced
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

// interval prints a value with its interval.
func interval(j *Judged, format, unit string) string {
	text := fmt.Sprintf(format, j.Value)
	if j.Known {
		text += fmt.Sprintf(" ("+format+" .. "+format+")", j.Low, j.High)
	}
	return text + unit
}

// plusMinus prints a mean with half of its interval, which needs two digits.
func plusMinus(mean, half float64) string {
	if half >= 100 {
		return digits(mean) + " ± " + strconv.FormatFloat(half, 'f', 0, 64)
	}
	return digits(mean) + " ± " + strconv.FormatFloat(half, 'g', 2, 64)
}

// digits prints a number with four digits.
func digits(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func withUnit(text, unit string) string {
	if unit == "" {
		return text
	}
	return text + " " + unit
}

func printed(v float64, unit string) string { return withUnit(digits(v), unit) }
