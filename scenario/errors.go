package scenario

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Error is a mistake in a scenario. Path names the key; a file adds where it is.
type Error struct {
	Path string
	Err  error
	key  string // below Path: the one to show, which may be unknown
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// InputError is a mistake in what the user wrote, with its place. Every error of
// ReadFile, Parse, Validate and Build that the user can mend is one.
type InputError struct {
	File         string // empty for a scenario that was not read from a file
	Line, Column int    // from 1; 0 when there is no place to show
	Err          error  // what is wrong and what is allowed
	source       string // the line of the file
}

// Error returns one line: where, what is wrong, what is allowed.
func (e *InputError) Error() string {
	switch {
	case e.File == "":
		return e.Err.Error()
	case e.Line == 0:
		return e.File + ": " + e.Err.Error()
	default:
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Err)
	}
}

func (e *InputError) Unwrap() error { return e.Err }

// maxExcerpt is the longest line that is worth showing.
const maxExcerpt = 120

// Excerpt returns the line of the file with a mark under the mistake, or nothing
// when that would not be readable.
func (e *InputError) Excerpt() string {
	line := strings.ReplaceAll(strings.TrimRight(e.source, "\r"), "\t", " ")
	if strings.TrimSpace(line) == "" || len(line) > maxExcerpt || e.Column < 1 || e.Column > len(line)+1 {
		return ""
	}
	number := fmt.Sprintf("%5d | ", e.Line)
	return fmt.Sprintf("%s%s\n%s%s^\n", number, line, strings.Repeat(" ", len(number)-2)+"| ", strings.Repeat(" ", e.Column-1))
}

// at ties an error to a key.
func at(path string, err error) error { return &Error{Path: path, Err: err} }

func atf(path, format string, args ...any) error {
	return &Error{Path: path, Err: fmt.Errorf(format, args...)}
}

// first returns the first error of a list of checks.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// key builds the path of a key of a list item.
func key(list string, i int, name string) string { return fmt.Sprintf("%s[%d].%s", list, i, name) }

// place is where something was written.
type place struct {
	from         string // the --set that it comes from; empty: a file
	line, column int
	file         *source // another file than the scenario's; nil: that one
}

// source remembers where the keys of a scenario were written.
type source struct {
	name   string
	lines  []string
	places map[string]place // by path: of the value, if it is a plain one
	keys   map[string]place // by path: of the key
}

func newSource(name string, data []byte) *source {
	return &source{name, strings.Split(string(data), "\n"), make(map[string]place), make(map[string]place)}
}

// has reports whether a key was written, rather than left to its default.
func (s *source) has(path string) bool {
	_, ok := s.places[path]
	return ok
}

// forget drops a key and what is below it.
func (s *source) forget(path string) {
	for p := range s.places {
		if rest, ok := strings.CutPrefix(p, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			delete(s.places, p)
			delete(s.keys, p)
		}
	}
}

// errorAt makes an error with a place.
func (s *source) errorAt(p place, err error) *InputError {
	if p.from != "" {
		return &InputError{File: p.from, Err: err}
	}
	if p.file != nil {
		s = p.file
	}
	e := &InputError{File: s.name, Line: p.line, Column: p.column, Err: err}
	if p.line >= 1 && p.line <= len(s.lines) {
		e.source = s.lines[p.line-1]
	}
	return e
}

// find returns the place of a key, or of the nearest key above it that exists.
func (s *source) find(path string) place {
	for path != "" {
		if p, ok := s.places[path]; ok {
			return p
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return place{line: 1, column: 1}
}

// Locate adds to an error about a key where that key was written. Other errors
// pass unchanged.
func (c *Config) Locate(err error) error {
	var e *Error
	var in *InputError
	if err == nil || errors.As(err, &in) || !errors.As(err, &e) {
		return err
	}
	if c.source == nil {
		return &InputError{Err: err}
	}
	if p, ok := c.source.keys[join(e.Path, e.key)]; ok && e.key != "" {
		return c.source.errorAt(p, err)
	}
	return c.source.errorAt(c.source.find(e.Path), err)
}

// written says whether a key stands in the scenario or in a setting: what is absent and
// what is zero are not always the same.
func (c *Config) written(path string) bool {
	if c.source == nil {
		return false
	}
	_, ok := c.source.keys[path]
	return ok
}

// sorted returns the times of a set in order.
func sorted(set map[units.Time]bool) []units.Time {
	var times []units.Time
	for t := range set {
		times = append(times, t)
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	return times
}
