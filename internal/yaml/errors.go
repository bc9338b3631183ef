package yaml

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a mistake in a document. Locations.Locate adds the location of the key.
type Error struct {
	Path string // path of the key
	Err  error
	Key  string // key below Path whose location to show; may be unknown

	// Else lists other keys that may have caused the error. If Path was not written, the
	// location of the first of them that was written is shown.
	Else []string
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// At returns err as an Error about a key.
func At(path string, err error) error { return &Error{Path: path, Err: err} }

// Atf formats an Error about a key.
func Atf(path, format string, args ...any) error {
	return &Error{Path: path, Err: fmt.Errorf(format, args...)}
}

// Or adds keys that may also have caused err, if err is an Error.
func Or(err error, paths ...string) error {
	if e, ok := err.(*Error); ok {
		e.Else = append(e.Else, paths...)
	}
	return err
}

// InputError is a mistake in the user's input, with its location: in a scenario, a switch
// configuration or a file of another program.
type InputError struct {
	File         string // empty if the input is not a file
	Line, Column int    // from 1; 0 if there is no line to show
	Err          error  // what is wrong and what is expected
	source       string // the line of the file
}

// Error returns one line: the location, what is wrong and what is expected.
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

// maxExcerpt is the length of the longest line that Excerpt shows.
const maxExcerpt = 120

// Excerpt returns the line of the file with a caret under the mistake, or "" if the line is
// too long or empty.
func (e *InputError) Excerpt() string {
	line := strings.ReplaceAll(strings.TrimRight(e.source, "\r"), "\t", " ")
	if strings.TrimSpace(line) == "" || len(line) > maxExcerpt || e.Column < 1 || e.Column > len(line)+1 {
		return ""
	}
	number := fmt.Sprintf("%5d | ", e.Line)
	return fmt.Sprintf("%s%s\n%s%s^\n", number, line, strings.Repeat(" ", len(number)-2)+"| ", strings.Repeat(" ", e.Column-1))
}

// Locations records where the keys of a document were written. A nil *Locations has no
// keys: the values were not read from text.
type Locations struct {
	top    *Source
	values map[string]Location // by path: of the value if it is a plain word, else of the key
	keys   map[string]Location // by path: of the key
}

// NewLocations returns an empty set of locations for a document.
func NewLocations(src *Source) *Locations {
	return &Locations{src, make(map[string]Location), make(map[string]Location)}
}

// Source returns the source of the document.
func (p *Locations) Source() *Source { return p.top }

// Has reports whether a key was written, rather than left to its default.
func (p *Locations) Has(path string) bool {
	if p == nil {
		return false
	}
	_, ok := p.values[path]
	return ok
}

// Paths returns the paths of all keys that were written, in no particular order.
func (p *Locations) Paths() []string {
	var list []string
	for path := range p.values {
		list = append(list, path)
	}
	return list
}

// Forget deletes a key and everything below it.
func (p *Locations) Forget(path string) {
	for at := range p.values {
		if rest, ok := strings.CutPrefix(at, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			delete(p.values, at)
			delete(p.keys, at)
		}
	}
}

// Adopt adds the locations of another document.
func (p *Locations) Adopt(other *Locations) {
	for path, at := range other.values {
		p.values[path] = at
	}
}

// Find returns the location of a key, or of its nearest parent that was written.
func (p *Locations) Find(path string) Location {
	if at, ok := p.above(path); ok {
		return at
	}
	return Location{p.top, 1, 1}
}

func (p *Locations) above(path string) (Location, bool) {
	for path != "" {
		if at, ok := p.values[path]; ok {
			return at, true
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return Location{}, false
}

// Locate turns an Error into an InputError with the location of its key. It returns other
// errors unchanged.
func (p *Locations) Locate(err error) error {
	var e *Error
	var in *InputError
	if err == nil || errors.As(err, &in) || !errors.As(err, &e) {
		return err
	}
	if p == nil {
		return &InputError{Err: err}
	}
	if at, ok := p.keys[Join(e.Path, e.Key)]; ok && e.Key != "" {
		return at.Error(err)
	}
	for _, path := range append([]string{e.Path}, e.Else...) {
		if at, ok := p.values[path]; ok {
			return at.Error(err)
		}
	}
	if at, ok := p.above(e.Path); ok {
		return at.Error(err)
	}
	return Location{Source: p.top}.Error(err) // no line of the file is to blame
}

// Errorf formats an error about a key, such as claims[2].metric. Its location is the key's,
// or that key's nearest parent if the key was not written.
func (p *Locations) Errorf(path, format string, args ...any) error {
	return p.Find(path).Error(&Error{Path: path, Err: fmt.Errorf(format, args...)})
}
