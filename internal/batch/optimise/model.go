package optimise

import (
	"math"
	"slices"
)

// model is a quadratic function of the ordered axes that approximates the scores around an
// entry.
type model struct {
	axes         []int // ordered axes
	products     bool  // has products of two axes
	coefficients []float64
}

// modelReach is the distance from the best setting, as a share of an axis, at which a setting has
// half its weight in a model.
const modelReach = 0.3

// ridge keeps the coefficients of a model small where settings say little.
const ridge = 1e-3

// fit returns a model of the scores around an entry, or nil if too few settings ran.
func (s *search) fit(weight float64, around *Entry) *model {
	centre := s.levels(around)
	if centre == nil {
		return nil
	}
	m := &model{}
	for j, a := range s.Axes {
		if a.Ordered && a.Levels > 2 {
			m.axes = append(m.axes, j)
		}
	}
	r, first := s.ranking(weight), s.result.Entries[0]
	var settings [][]int
	var scores, weights []float64
	for _, e := range s.result.Entries {
		setting := s.levels(e)
		n := len(e.Outcomes)
		if setting == nil || n == 0 || violation(e, n) > 0 || !s.sameWords(setting, centre) {
			continue
		}
		// Compare with today's setting over the same seeds.
		scores = append(scores, average(r.scores(e, n))-average(r.scores(first, n)))
		far := 0.0
		for j := range s.Axes {
			d := s.share(j, setting) - s.share(j, centre)
			far += float64(d * d)
		}
		weights = append(weights, float64(n)/(1+far/(modelReach*modelReach)))
		settings = append(settings, setting)
	}
	m.products = len(settings) >= (len(m.axes)+1)*(len(m.axes)+2)/2+2
	if len(m.axes) == 0 || len(settings) < len(s.features(m, centre))+2 {
		return nil
	}
	var rows [][]float64
	for _, setting := range settings {
		rows = append(rows, s.features(m, setting))
	}
	m.coefficients = leastSquares(rows, scores, weights)
	return m
}

// sameWords reports whether two settings differ only in ordered axes.
func (s *search) sameWords(a, b []int) bool {
	for j, axis := range s.Axes {
		if !axis.Ordered && a[j] != b[j] {
			return false
		}
	}
	return true
}

// share returns the position of a setting on an axis, from 0 to 1.
func (s *search) share(axis int, setting []int) float64 {
	return float64(setting[axis]) / float64(max(1, s.Axes[axis].Levels-1))
}

// features returns what a model multiplies by its coefficients: 1, each position, its square, and
// with many settings the products of two.
func (s *search) features(m *model, setting []int) []float64 {
	list := []float64{1}
	for k, j := range m.axes {
		x := s.share(j, setting)
		list = append(list, x, x*x)
		if !m.products {
			continue
		}
		for _, i := range m.axes[:k] {
			list = append(list, x*s.share(i, setting))
		}
	}
	return list
}

// at returns the score that a model expects of a setting.
func (s *search) at(m *model, setting []int) float64 {
	return dot(m.coefficients, s.features(m, setting))
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// leastSquares returns the coefficients with the smallest weighted squares, by the normal
// equations and Gauss's elimination.
func leastSquares(rows [][]float64, values, weights []float64) []float64 {
	n := len(rows[0])
	a := make([][]float64, n) // with the right side as the last column
	for i := range a {
		a[i] = make([]float64, n+1)
		a[i][i] = ridge
		for k, row := range rows {
			for j := range n {
				a[i][j] += float64(float64(weights[k]*row[i]) * row[j])
			}
			a[i][n] += float64(float64(weights[k]*row[i]) * values[k])
		}
	}
	for i := range a {
		best := i
		for k := i + 1; k < n; k++ {
			if math.Abs(a[k][i]) > math.Abs(a[best][i]) {
				best = k
			}
		}
		a[i], a[best] = a[best], a[i]
		for k := range a {
			if k == i || a[i][i] == 0 {
				continue
			}
			factor := a[k][i] / a[i][i]
			for j := i; j <= n; j++ {
				a[k][j] -= float64(factor * a[i][j])
			}
		}
	}
	list := make([]float64, n)
	for i := range list {
		if a[i][i] != 0 {
			list[i] = a[i][n] / a[i][i]
		}
	}
	return list
}

// modelPoints is the number of settings of which a model chooses one.
const modelPoints = 256

// predicted returns the setting near an entry of which a model of the scores expects most, or nil
// if there is no model, or the setting ran.
func (s *search) predicted(weight float64, around *Entry) *Entry {
	m := s.fit(weight, around)
	if m == nil {
		return nil
	}
	var best []int
	low := math.Inf(1)
	points := newSobol(len(s.Axes), s.Seed)
	for range modelPoints {
		setting := s.near(around, 2*widest, points.next())
		for j, a := range s.Axes {
			if !a.Ordered {
				setting[j] = s.levels(around)[j]
			}
		}
		if v := s.at(m, setting); v < low {
			low, best = v, slices.Clone(setting)
		}
	}
	if best == nil {
		return nil
	}
	for moved := true; moved; { // to the best neighbour, axis by axis
		moved = false
		for _, j := range m.axes {
			for _, to := range []int{best[j] - 1, best[j] + 1} {
				next := slices.Clone(best)
				next[j] = min(max(to, 0), s.Axes[j].Levels-1)
				if v := s.at(m, next); v < low {
					low, best, moved = v, next, true
				}
			}
		}
	}
	return s.add(best)
}
