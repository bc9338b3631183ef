package sonic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// span is an inclusive range of indices, such as 3-4.
type span struct{ lo, hi int }

// portsOf splits the part of a key that names ports.
func portsOf(text string) []string {
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// indices parses the part of a key that names priority groups or queues. Backwards
// reports a range such as 4-3 or 3-3, which a switch rejects.
func indices(text string, count int) (s span, backwards bool, err error) {
	lo, hi, ranged := strings.Cut(strings.TrimSpace(text), "-")
	if s.lo, err = index(lo, count); err != nil {
		return s, false, err
	}
	if !ranged {
		s.hi = s.lo
		return s, false, nil
	}
	if s.hi, err = index(hi, count); err != nil {
		return s, false, err
	}
	if s.lo >= s.hi {
		return span{s.hi, s.lo}, true, nil
	}
	return s, false, nil
}

func index(text string, count int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n >= count {
		return 0, fmt.Errorf("%q is not an index (expected 0 to %d, or a range such as 3-4)", shorten(text), count-1)
	}
	return n, nil
}

// Natural compares names with numbers in natural order: Ethernet4 before Ethernet12.
func Natural(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns the number of leading digits of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// SortNatural sorts names in natural order.
func SortNatural(names []string) {
	slices.SortStableFunc(names, func(a, b string) int {
		if c := Natural(a, b); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
}

// reference splits a reference of the old form, [TABLE|name]. The table is empty in the
// new form, which is a bare name.
func reference(text string) (table, name string) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			if table, name, ok = strings.Cut(inner, "|"); ok {
				return strings.TrimSpace(table), strings.TrimSpace(name)
			}
		}
	}
	return "", text
}
