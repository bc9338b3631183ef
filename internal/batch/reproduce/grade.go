package reproduce

import (
	"math"
	"slices"
)

// Verdict is the grade of a claim.
type Verdict string

// Verdicts, best first.
const (
	Close         Verdict = "close"
	Roughly       Verdict = "roughly"
	DirectionOnly Verdict = "direction only"
	Inconclusive  Verdict = "inconclusive"
	NotReproduced Verdict = "not reproduced"
)

var verdicts = []Verdict{Close, Roughly, DirectionOnly, Inconclusive, NotReproduced}

// rank returns the index of v in verdicts, or -1 for a claim that was not run.
func (v Verdict) rank() int { return slices.Index(verdicts, v) }

// Reproduced reports whether the claim is reproduced, at least roughly.
func (v Verdict) Reproduced() bool { return v == Close || v == Roughly }

// noDirection is the largest change of a paper that has no direction, in percentage points.
const noDirection = 5.0

// Maximum errors of a change. The larger bound applies: a fraction of the paper's number, or
// percentage points.
const (
	closeFraction, closePoints     = 0.25, 5.0
	roughlyFraction, roughlyPoints = 0.5, 15.0
)

// gradeChange grades the size of a change in per cent. Its direction must already match the
// paper's.
func gradeChange(ours, paper float64) Verdict {
	off := math.Abs(ours - paper)
	switch {
	case off <= max(closePoints, closeFraction*math.Abs(paper)):
		return Close
	case off <= max(roughlyPoints, roughlyFraction*math.Abs(paper)):
		return Roughly
	}
	return DirectionOnly
}

// Expected returns the expected verdict of a claim at a scale, and the deviation that
// explains it. Without a deviation it returns Close and nil: any Reproduced verdict is
// expected.
func (e *Experiment) Expected(claim, scale string) (Verdict, *Deviation) {
	for i := range e.Deviations {
		if d := &e.Deviations[i]; d.Claim == claim && (d.Scale == "" || d.Scale == scale) {
			return Verdict(d.Verdict), d
		}
	}
	return Close, nil
}
