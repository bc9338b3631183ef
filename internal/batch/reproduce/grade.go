package reproduce

import "math"

// Verdict is how a claim came out.
type Verdict string

// Verdicts, the best first.
const (
	Close         Verdict = "close"
	Roughly       Verdict = "roughly"
	DirectionOnly Verdict = "direction only"
	Inconclusive  Verdict = "inconclusive"
	NotReproduced Verdict = "not reproduced"
)

var verdicts = []Verdict{Close, Roughly, DirectionOnly, Inconclusive, NotReproduced}

// rank orders verdicts, the best first; what was not run comes before all.
func (v Verdict) rank() int {
	for i, w := range verdicts {
		if v == w {
			return i
		}
	}
	return -1
}

// Out reports whether the claim came out: its size is that of the paper, or roughly so.
func (v Verdict) Out() bool { return v == Close || v == Roughly }

// How far a size may be off: by the wider of a share of the paper's figure and of
// percentage points.
const (
	closeShare, closePoints     = 0.25, 5.0
	roughlyShare, roughlyPoints = 0.5, 15.0
)

// gradeChange grades the size of a change in per cent whose direction is the paper's.
func gradeChange(ours, paper float64) Verdict {
	off := math.Abs(ours - paper)
	switch {
	case off <= max(closePoints, closeShare*math.Abs(paper)):
		return Close
	case off <= max(roughlyPoints, roughlyShare*math.Abs(paper)):
		return Roughly
	}
	return DirectionOnly
}

// gradeValue grades an absolute number, by its ratio to the paper's. Percentage points
// would call a share of 20 % the same as one of 5 %.
func gradeValue(ours, paper float64) Verdict {
	off := math.Abs(ours - paper)
	switch {
	case off <= closeShare*math.Abs(paper):
		return Close
	case off <= roughlyShare*math.Abs(paper):
		return Roughly
	}
	return NotReproduced
}

// Expected is the verdict that a claim should have at a scale: that of its deviation, or
// any with which it came out, for which close stands.
func (e *Experiment) Expected(claim, scale string) (Verdict, *Deviation) {
	for i := range e.Deviations {
		if d := &e.Deviations[i]; d.Claim == claim && (d.Scale == "" || d.Scale == scale) {
			return Verdict(d.Verdict), d
		}
	}
	return Close, nil
}
