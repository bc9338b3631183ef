package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Judged is a claim and how it came out.
type Judged struct {
	Claim   *Claim  `json:"-"`
	ID      string  `json:"id"`
	Kind    string  `json:"kind"`    // headline, reading, sanity
	Row     string  `json:"row"`     // the claim of the paper that it is a part of
	Verdict Verdict `json:"verdict"` // empty: this scale has no such point
	Ours    string  `json:"ours"`    // the number, in words
	Brief   string  `json:"-"`       // the same without its interval
	Value   float64 `json:"value"`
	Low     float64 `json:"low"` // of the 95 % interval
	High    float64 `json:"high"`
	Known   bool    `json:"known"` // there is an interval
	Once    bool    `json:"once"`  // seeds change nothing: it is one run, without an interval
	At      string  `json:"at,omitempty"`
	Reason  string  `json:"reason,omitempty"` // why it is inconclusive, in words

	Expected  Verdict    `json:"expected"`
	Deviation *Deviation `json:"-"`
}

// Surprise reports whether the verdict is another than the one that is written
// down.
func (j *Judged) Surprise() bool {
	return j.Verdict != "" && j.Verdict != j.Expected && (j.Deviation != nil || !j.Verdict.Out())
}

// Judge holds the claims of an experiment against its results.
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
			for _, f := range slices.Concat(e.flags(r, q), r.failed(q), e.unfinished(r, q, e.metric(c.Metric))) {
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
	against []Place // none, or one; for lessens the base here, and scheme and base in the other case
}

// placesOf returns the places that a claim is about; false when the scale does not
// have them.
func (e *Experiment) placesOf(r *Result, c *Claim) ([]pair, bool) {
	have := r.places()
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
			p := pair{at: Place{c.Case, s, x}}
			switch {
			case c.Operator == opOrder:
				if i+1 == len(schemes) {
					continue
				}
				p.against = []Place{{c.Case, schemes[i+1], x}}
			case c.Operator == opLessens:
				base, where, at := c.Baseline.Scheme, or(c.Baseline.Case, c.Case), or(c.Baseline.X, x)
				p.against = []Place{{c.Case, base, x}, {where, s, at}, {where, base, at}}
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

// steps are the neighbours of an order along x.
func (c *Claim) steps(have []Place) ([]pair, bool) {
	var list []pair
	for i, x := range c.Order {
		p := Place{c.Case, c.Scheme, x}
		if !contains(have, p) {
			return nil, false
		}
		if i > 0 {
			list[i-1].against = []Place{p}
		}
		list = append(list, pair{at: p})
	}
	return list[:len(list)-1], true
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
