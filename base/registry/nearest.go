package registry

import (
	"fmt"
	"sort"
	"strings"
)

// Nearest returns the known word closest to s, or nothing if none is close.
func Nearest(s string, known []string) string {
	best, at := "", len(s)+1
	sorted := append([]string(nil), known...)
	sort.Strings(sorted)
	if len(s) > 64 {
		return ""
	}
	for _, k := range sorted {
		if n := distance(s, k); n < at && n <= mistakes(s, k) {
			best, at = k, n
		}
	}
	return best
}

// mistakes is how many letters of a word may be wrong: fewer in short words and
// when the first one is, never more than half.
func mistakes(s, meant string) int {
	n := 1 + max(0, len(s)-1)/4
	if s != "" && meant != "" && s[0] == meant[0] {
		n++
	}
	return min(n, 3, max(len(s), len(meant))/2)
}

// distance is the number of letters to insert, delete, change or swap with the
// next to make b of a.
func distance(a, b string) int {
	// Rows of the table of distances between beginnings: two back, the last, this.
	two, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		two, last, row = last, row, two
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Unknown says that a name is none of those that there are, and which one may be
// meant.
func Unknown(kind, name string, known []string) error {
	return fmt.Errorf("unknown %s %q%s; allowed: %s", kind, name, DidYouMean(name, known), strings.Join(known, ", "))
}

// DidYouMean is a remark about the known word closest to s; it is empty if none
// is close.
func DidYouMean(s string, known []string) string {
	if near := Nearest(s, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}
