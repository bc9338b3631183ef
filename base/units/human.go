package units

import (
	"strconv"
	"strings"
)

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

// Human prints a time with three digits.
func (t Time) Human() string { return Human(float64(t), "ps", "ns", "us", "ms", "s") }

// Human prints a size with three digits.
func (b Bytes) Human() string { return Human(float64(b), "B", "KB", "MB", "GB", "TB") }

// Thousands prints a number with separators.
func Thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}
