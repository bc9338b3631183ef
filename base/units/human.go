package units

import (
	"strconv"
	"strings"
)

// Human formats x with three significant digits and a unit from names. Each unit is a
// thousand times the one before; the first that leaves at most three integer digits is used.
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

// Human formats a time with three significant digits.
func (t Time) Human() string { return Human(float64(t), "ps", "ns", "us", "ms", "s") }

// Human formats a size with three significant digits.
func (b Bytes) Human() string { return Human(float64(b), "B", "KB", "MB", "GB", "TB") }

// Thousands formats n with commas between groups of three digits.
func Thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}
