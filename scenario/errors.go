package scenario

import (
	"fmt"
	"sort"

	"github.com/xoff-net/xoff/units"
)

// Error is a mistake in a scenario. Path names the key; a file adds where it is.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// at ties an error to a key.
func at(path string, err error) error { return &Error{path, err} }

func atf(path, format string, args ...any) error { return &Error{path, fmt.Errorf(format, args...)} }

// key builds the path of a key of a list item.
func key(list string, i int, name string) string { return fmt.Sprintf("%s[%d].%s", list, i, name) }

// sorted returns the times of a set in order.
func sorted(set map[units.Time]bool) []units.Time {
	var times []units.Time
	for t := range set {
		times = append(times, t)
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	return times
}
