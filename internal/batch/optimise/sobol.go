package optimise

import "math/bits"

// MaxAxes is the largest number of axes of a problem.
const MaxAxes = 16

// directions are the degree and the coefficients of a primitive polynomial, and the first
// direction numbers, of every axis after the first (Joe and Kuo, SIAM J. Sci. Comput. 30,
// 2008).
var directions = [MaxAxes - 1]struct {
	degree, coefficients int
	first                []uint32
}{
	{1, 0, []uint32{1}},
	{2, 1, []uint32{1, 3}},
	{3, 1, []uint32{1, 3, 1}},
	{3, 2, []uint32{1, 1, 1}},
	{4, 1, []uint32{1, 1, 3, 3}},
	{4, 4, []uint32{1, 3, 5, 13}},
	{5, 2, []uint32{1, 1, 5, 5, 17}},
	{5, 4, []uint32{1, 1, 5, 5, 5}},
	{5, 7, []uint32{1, 1, 7, 11, 19}},
	{5, 11, []uint32{1, 1, 5, 1, 1}},
	{5, 13, []uint32{1, 1, 1, 3, 11}},
	{5, 14, []uint32{1, 3, 5, 5, 31}},
	{6, 1, []uint32{1, 3, 3, 9, 7, 49}},
	{6, 13, []uint32{1, 1, 1, 15, 21, 21}},
	{6, 16, []uint32{1, 3, 1, 13, 27, 49}},
}

// sobol is a Sobol sequence: points that fill a cube evenly, whatever their number. A random
// shift makes sequences of different seeds differ.
type sobol struct {
	vectors [][32]uint32 // by axis
	at      []uint32     // current point, as fractions of 2^32
	shift   []uint32
	index   uint32
}

// newSobol returns a sequence for a number of axes.
func newSobol(axes int, seed uint64) *sobol {
	s := &sobol{vectors: make([][32]uint32, axes), at: make([]uint32, axes)}
	for j := range axes {
		v := &s.vectors[j]
		seed += 0x9e3779b97f4a7c15 // splitmix64
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		s.shift = append(s.shift, uint32(z>>32)^uint32(z))
		if j == 0 {
			for i := range v {
				v[i] = 1 << (31 - i)
			}
			continue
		}
		d := directions[j-1]
		for i := range v {
			if i < d.degree {
				v[i] = d.first[i] << (31 - i)
				continue
			}
			v[i] = v[i-d.degree] ^ v[i-d.degree]>>d.degree
			for k := 1; k < d.degree; k++ {
				if d.coefficients>>(d.degree-1-k)&1 == 1 {
					v[i] ^= v[i-k]
				}
			}
		}
	}
	return s
}

// next returns the next point as fractions of 2^32. The caller must not keep it.
func (s *sobol) next() []uint32 {
	s.index++
	flip := bits.TrailingZeros32(s.index)
	point := make([]uint32, len(s.at))
	for j := range s.at {
		s.at[j] ^= s.vectors[j][flip]
		point[j] = s.at[j] ^ s.shift[j]
	}
	return point
}

// part returns the index of one of n equal parts in which a fraction of 2^32 lies.
func part(fraction uint32, n int) int { return int(uint64(fraction) * uint64(n) >> 32) }
