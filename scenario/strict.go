package scenario

import (
	"fmt"
	"reflect"
)

// strict is what differs when another file than a scenario is decoded.
type strict struct{ name string }

func (s *strict) what() string {
	if s == nil {
		return "scenario"
	}
	return s.name
}

// maxText bounds the paragraphs of files that are not scenarios.
const maxText = 5000

func (s *strict) longest() int {
	if s == nil {
		return maxWord
	}
	return maxText
}

// Places remembers where the keys of a file were written.
type Places struct{ src *source }

// DecodeStrict reads a YAML file of another kind than a scenario by the rules of
// scenarios: unknown keys and values of the wrong form are InputErrors with their
// place, and the nearest known key. What names the kind of file in messages. Into
// is a pointer to a struct of strings, numbers, truth values, quantities, and
// lists, maps and structs of these.
func DecodeStrict(name string, data []byte, what string, into any) (*Places, error) {
	d := &decoder{src: newSource(name, data), strict: &strict{what}}
	body, err := document(d, data, what)
	if err != nil {
		return nil, err
	}
	return &Places{d.src}, d.value(body, "", reflect.ValueOf(into).Elem())
}

// Errorf makes an error about a key, such as claims[2].metric: it shows where that
// key, or the nearest one above it, was written.
func (p *Places) Errorf(path, format string, args ...any) error {
	return p.src.errorAt(p.src.find(path), &Error{Path: path, Err: fmt.Errorf(format, args...)})
}
