package yaml

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a mistake in a document. Path names the key; a file adds where it is.
type Error struct {
	Path string
	Err  error
	Key  string // below Path: the one to show, which may be unknown

	// Else are other keys that may have made it: the first that was written is shown
	// when Path was not.
	Else []string
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// At ties an error to a key.
func At(path string, err error) error { return &Error{Path: path, Err: err} }

// Atf makes an error about a key.
func Atf(path, format string, args ...any) error {
	return &Error{Path: path, Err: fmt.Errorf(format, args...)}
}

// Or adds other keys that an error about a key may come from.
func Or(err error, paths ...string) error {
	if e, ok := err.(*Error); ok {
		e.Else = append(e.Else, paths...)
	}
	return err
}

// InputError is a mistake in what the user wrote, with its place: in a scenario, a
// configuration of a switch, or a file of another program.
type InputError struct {
	File         string // empty for what was not read from a file
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

// Places remembers where the keys of a document were written. A nil *Places knows
// nothing: the values were not read from a text.
type Places struct {
	top    *Source
	values map[string]Place // by path: of the value, if it is a plain one
	keys   map[string]Place // by path: of the key
}

// NewPlaces returns those of a document of which nothing was read yet.
func NewPlaces(src *Source) *Places {
	return &Places{src, make(map[string]Place), make(map[string]Place)}
}

// Source returns what the document was read from.
func (p *Places) Source() *Source { return p.top }

// Has reports whether a key was written, rather than left to its default.
func (p *Places) Has(path string) bool {
	if p == nil {
		return false
	}
	_, ok := p.values[path]
	return ok
}

// Paths returns all keys that were written, in no order.
func (p *Places) Paths() []string {
	var list []string
	for path := range p.values {
		list = append(list, path)
	}
	return list
}

// Forget drops a key and what is below it.
func (p *Places) Forget(path string) {
	for at := range p.values {
		if rest, ok := strings.CutPrefix(at, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			delete(p.values, at)
			delete(p.keys, at)
		}
	}
}

// Adopt takes over what another document says about its keys.
func (p *Places) Adopt(other *Places) {
	for path, at := range other.values {
		p.values[path] = at
	}
}

// Find returns the place of a key, or of the nearest key above it that exists.
func (p *Places) Find(path string) Place {
	if at, ok := p.above(path); ok {
		return at
	}
	return Place{p.top, 1, 1}
}

func (p *Places) above(path string) (Place, bool) {
	for path != "" {
		if at, ok := p.values[path]; ok {
			return at, true
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return Place{}, false
}

// Locate adds to an error about a key where that key was written. Other errors
// pass unchanged.
func (p *Places) Locate(err error) error {
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
	return Place{Source: p.top}.Error(err) // the first line has nothing to do with it
}

// Errorf makes an error about a key, such as claims[2].metric: it shows where that
// key, or the nearest one above it, was written.
func (p *Places) Errorf(path, format string, args ...any) error {
	return p.Find(path).Error(&Error{Path: path, Err: fmt.Errorf(format, args...)})
}
