package registry

import (
	"fmt"
	"sort"
	"strings"
)

// Nearest returns the known word closest to s, or "" if none is close.
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

// mistakes returns the largest edit distance accepted as a typing error. It is smaller for
// short words and for a wrong first letter, and never more than half the word.
func mistakes(s, meant string) int {
	n := 1 + max(0, len(s)-1)/4
	if s != "" && meant != "" && s[0] == meant[0] {
		n++
	}
	return min(n, 3, max(len(s), len(meant))/2)
}

// distance returns the number of letters to insert, delete, replace or swap with their
// neighbour to turn a into b.
func distance(a, b string) int {
	// Rows of the distance table of prefixes: two rows back, the previous and the current.
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

// Unknown returns the error for an unknown name. It suggests the closest known name and
// lists all of them.
func Unknown(kind, name string, known []string) error {
	return fmt.Errorf("unknown %s %q%s (allowed: %s)", kind, name, DidYouMean(name, known), strings.Join(known, ", "))
}

// DidYouMean returns a suggestion of the known word closest to s, or "" if none is close.
func DidYouMean(s string, known []string) string {
	if near := Nearest(s, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
