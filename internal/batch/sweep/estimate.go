package sweep

import (
	"cmp"
	"slices"
)

// PilotRun is the measured time and memory of a point.
type PilotRun struct {
	Cost    float64
	Seconds float64
	Peak    int64 // peak memory in bytes; 0: unknown
}

// Pilots selects up to n points spread over the range of costs, from the lowest to the
// highest.
func Pilots(points []*Point, n int) []*Point {
	order := slices.Clone(points)
	slices.SortStableFunc(order, func(a, b *Point) int { return cmp.Compare(a.cost(), b.cost()) })
	n = min(n, len(order))
	if n == 1 {
		return order[len(order)-1:]
	}
	var list []*Point
	for i := range n {
		list = append(list, order[i*(len(order)-1)/(n-1)])
	}
	return list
}

// Estimate returns the seconds that a point of a cost takes. It interpolates linearly
// between samples and uses the nearest one outside their range. Of samples with equal cost
// the slowest counts.
func Estimate(samples []PilotRun, cost float64) float64 {
	var below, above *PilotRun
	for i := range samples {
		s := &samples[i]
		if s.Cost <= cost && (below == nil || s.Cost > below.Cost || s.Cost == below.Cost && s.Seconds > below.Seconds) {
			below = s
		}
		if s.Cost >= cost && (above == nil || s.Cost < above.Cost || s.Cost == above.Cost && s.Seconds > above.Seconds) {
			above = s
		}
	}
	switch {
	case below == nil && above == nil:
		return 0
	case below == nil:
		return above.Seconds
	case above == nil:
		return below.Seconds
	case above.Cost == below.Cost:
		return above.Seconds
	}
	return below.Seconds + (above.Seconds-below.Seconds)*(cost-below.Cost)/(above.Cost-below.Cost)
}
