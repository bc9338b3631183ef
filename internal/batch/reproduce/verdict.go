package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Judged is a claim with its verdict.
type Judged struct {
	Claim   *Claim  `json:"-"`
	ID      string  `json:"id"`
	Kind    string  `json:"kind"`    // headline, reading, sanity
	Row     string  `json:"row"`     // headline claim that it belongs to
	Verdict Verdict `json:"verdict"` // empty: this scale does not have the position
	Ours    string  `json:"ours"`    // formatted number with its interval
	Brief   string  `json:"-"`       // formatted number without its interval
	Value   float64 `json:"value"`
	Low     float64 `json:"low"`          // lower end of the 95 % interval
	High    float64 `json:"high"`         // upper end of the 95 % interval
	Known   bool    `json:"known"`        // the interval is known
	Once    bool    `json:"once"`         // seeds change nothing: one run, without an interval
	At      string  `json:"at,omitempty"` // value of x, if the claim is about several
	Reason  string  `json:"reason,omitempty"`

	unusable bool // the runs do not support a verdict

	Expected  Verdict    `json:"expected"`
	Deviation *Deviation `json:"-"`
}

// Surprise reports whether the verdict differs from the expected one.
func (j *Judged) Surprise() bool {
	return j.Verdict != "" && j.Verdict != j.Expected && (j.Deviation != nil || !j.Verdict.Reproduced())
}

// Judge judges the claims of an experiment by its results.
func (e *Experiment) Judge(r *Result) []*Judged {
	var list []*Judged
	for i := range e.Claims {
		c := &e.Claims[i]
		j := e.judge(r, c)
		j.Claim, j.ID, j.Kind, j.Row = c, c.ID, c.Kind, c.row()
		j.Expected, j.Deviation = e.Expected(c.ID, r.Scale)
		list = append(list, j)
	}
	return list
}

func (c *Claim) isSweep() bool { return c.X == xMost || c.X == xLeast || c.X == xMean || c.X == xAll }

// judge judges one claim.
func (e *Experiment) judge(r *Result, c *Claim) *Judged {
	if c.X == xMost {
		return e.judgeBest(r, c)
	}
	positions, ok := e.positionsOf(r, c)
	if !ok {
		return &Judged{Reason: "this scale has no such point"}
	}
	j := e.compute(r, c, positions)
	var problems []string
	for _, p := range positions {
		for _, q := range append([]Position{p.at}, p.against...) {
			list := slices.Concat(e.flags(r, q), r.failed(q))
			if !j.final(c) {
				list = append(list, e.unfinished(r, q, e.metric(c.Metric))...)
			}
			for _, f := range list {
				if f = fmt.Sprintf("%s (%s)", f, q); !strings.Contains(strings.Join(problems, "; "), f) {
					problems = append(problems, f)
				}
			}
		}
	}
	if len(problems) > 0 {
		j.Verdict, j.Reason, j.unusable = Inconclusive, strings.Join(problems, "; "), true
	}
	return j
}

// final reports whether unfinished flows cannot change the verdict: a counter that is not
// zero can only grow.
func (j *Judged) final(c *Claim) bool {
	return c.Operator == opNonzero && j.Verdict == Close || c.Operator == opZero && j.Verdict == NotReproduced
}

// judgeBest judges a claim at its best point of the sweep. Points whose runs do not support
// a verdict are considered only if the claim is not reproduced at the others.
func (e *Experiment) judgeBest(r *Result, c *Claim) *Judged {
	var best *Judged
	for _, x := range e.Scale(r.Scale).X {
		one := *c
		one.X = x
		j := e.judge(r, &one)
		if j.Verdict == "" {
			return j
		}
		j.At = x
		if best == nil || c.better(j, best) {
			best = j
		}
	}
	if best == nil {
		return &Judged{Reason: "this scale has no such point"}
	}
	if len(e.Scale(r.Scale).X) == 1 {
		best.At = ""
	}
	return best
}

// better reports whether j is a better point than other for a claim of "can" or "up to". Of
// two changes in the paper's direction that chance cannot explain, the larger one is better.
func (c *Claim) better(j, other *Judged) bool {
	switch {
	case j.unusable && !other.unusable:
		return other.Verdict == NotReproduced // the claim may hold at j
	case other.unusable && !j.unusable:
		return j.Verdict != NotReproduced
	}
	paper := 1.0
	a, b := j.Verdict.rank(), other.Verdict.rank()
	if c.Operator == opChange || c.Operator == opRatio {
		paper = c.paperChange()
		a, b = max(a, DirectionOnly.rank()), max(b, DirectionOnly.rank())
	}
	return a < b || a == b && further(j, other, paper) > 0
}

// pair is a position and the positions that it is compared with.
type pair struct {
	at      Position
	against []Position // at most one; for lessens: base, then scheme and base in the baseline's case
}

// positionsOf returns the positions of a claim, or false if the scale does not have them.
func (e *Experiment) positionsOf(r *Result, c *Claim) ([]pair, bool) {
	have := r.positions()
	if c.alongX() {
		return c.steps(have)
	}
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
			p := pair{at: Position{c.Case, s, x}}
			switch {
			case c.Operator == opOrder:
				if i+1 == len(schemes) {
					continue
				}
				p.against = []Position{{c.Case, schemes[i+1], x}}
			case c.Operator == opLessens:
				base, where, at := c.Baseline.Scheme, cmp.Or(c.Baseline.Case, c.Case), cmp.Or(c.Baseline.X, x)
				p.against = []Position{{c.Case, base, x}, {where, s, at}, {where, base, at}}
			case c.Baseline != Baseline{}:
				p.against = []Position{{cmp.Or(c.Baseline.Case, c.Case), cmp.Or(c.Baseline.Scheme, s), cmp.Or(c.Baseline.X, x)}}
			}
			for _, q := range append([]Position{p.at}, p.against...) {
				if !slices.Contains(have, q) {
					return nil, false
				}
			}
			list = append(list, p)
		}
	}
	return list, true
}

// steps returns the pairs of neighbours of an order along x.
func (c *Claim) steps(have []Position) ([]pair, bool) {
	var list []pair
	for i, x := range c.Order {
		p := Position{c.Case, c.Scheme, x}
		if !slices.Contains(have, p) {
			return nil, false
		}
		if i > 0 {
			list[i-1].against = []Position{p}
		}
		list = append(list, pair{at: p})
	}
	return list[:len(list)-1], true
}

// interval formats a value with its interval.
func interval(j *Judged, format, unit string) string {
	text := fmt.Sprintf(format, j.Value)
	if j.Known {
		text += fmt.Sprintf(" ("+format+" .. "+format+")", j.Low, j.High)
	}
	return text + unit
}

// plusMinus formats a mean and the half width of its interval with two digits.
func plusMinus(mean, half float64) string {
	if half >= 100 {
		return digits(mean) + " ± " + strconv.FormatFloat(half, 'f', 0, 64)
	}
	return digits(mean) + " ± " + strconv.FormatFloat(half, 'g', 2, 64)
}

// digits formats a number with four digits.
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
