package units

import "strconv"

// Human prints a number with three digits and the first of the names, each a
// thousand times the one before, that leaves at most three before the point.
func Human(x float64, names ...string) string {
	i := 0
	for ; x >= 999.5 && i+1 < len(names); i++ {
		x /= 1000
	}
	digits := 2
	switch {
	case i == 0 && x == float64(int64(x)) || x >= 99.95:
		digits = 0
	case x >= 9.995:
		digits = 1
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + names[i]
}
