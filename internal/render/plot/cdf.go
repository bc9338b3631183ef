package plot

import (
	"math"
	"slices"
)

// cdf draws distributions in steps. It returns false if there is nothing to draw.
func (p *plan) cdf(s *scene, l *looks) bool {
	any := false
	for i := range p.Series {
		d := &p.Series[i]
		if d.Y != nil && d.Low != nil && d.High != nil {
			s.series(d)
			p.band(s, d, l.byName[d.Name], true)
			s.tag("</g>")
		}
	}
	for i := range p.Series {
		d := &p.Series[i]
		x, y := d.X, d.Y
		if y == nil {
			x, y = distribution(x)
		}
		runs, pts := p.runs(&Series{X: x, Y: y})
		any = any || len(pts) > 0
		for j := range runs {
			runs[j] = stairs(runs[j], p.box)
		}
		s.series(d)
		p.stroke(s, runs, l.byName[d.Name], lineWidth)
		s.tag("</g>")
	}
	return any
}

// distribution returns the distinct finite values of samples, and for each the share of
// samples that do not exceed it. NaN is not a sample.
func distribution(samples []float64) (x, y []float64) {
	sorted := make([]float64, 0, len(samples))
	for _, v := range samples {
		if !math.IsNaN(v) {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	n := float64(len(sorted))
	for i, v := range sorted {
		if !finite(v) || i+1 < len(sorted) && sorted[i+1] == v {
			continue
		}
		x, y = append(x, v), append(y, float64(i+1)/n)
	}
	return x, y
}

// stairs turns points into steps that begin at the bottom and end at the right edge. It
// omits steps that are too small to see.
func stairs(run []vec, b box) []vec {
	const visible = 0.4
	out := []vec{{run[0].x, b.y1}, run[0]}
	for i, v := range run[1:] {
		last := out[len(out)-1]
		if v.x-last.x < visible && last.y-v.y < visible && i < len(run)-2 {
			continue
		}
		out = append(out, vec{v.x, last.y}, v)
	}
	if last := out[len(out)-1]; last.x < b.x1 {
		out = append(out, vec{b.x1, last.y})
	}
	return out
}

// Spread returns the distribution of several runs as a series of a CDF panel: the mean of
// their shares, with the smallest and largest share as bounds. Samples are as in CDF.
func Spread(name string, runs ...[]float64) Series {
	s := Series{Name: name}
	var all []float64
	var sorted [][]float64
	for _, r := range runs {
		r = slices.DeleteFunc(slices.Clone(r), math.IsNaN)
		if len(r) == 0 {
			continue
		}
		slices.Sort(r)
		sorted = append(sorted, r)
		all = append(all, r...)
	}
	slices.Sort(all)
	const most = 400 // a panel has few more pixels
	s.X, s.Y = []float64{}, []float64{}
	for i := range all {
		if i > 0 && i < len(all)-1 && i*most/len(all) == (i-1)*most/len(all) {
			continue
		}
		v := all[i]
		if !finite(v) || len(s.X) > 0 && s.X[len(s.X)-1] == v {
			continue
		}
		sum, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
		for _, r := range sorted {
			// n is the number of samples that do not exceed v.
			n, _ := slices.BinarySearchFunc(r, v, func(a, b float64) int {
				if a <= b {
					return -1
				}
				return 1
			})
			share := float64(n) / float64(len(r))
			sum, lo, hi = sum+share, min(lo, share), max(hi, share)
		}
		s.X, s.Y = append(s.X, v), append(s.Y, sum/float64(len(sorted)))
		s.Low, s.High = append(s.Low, lo), append(s.High, hi)
	}
	return s
}
