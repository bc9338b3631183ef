package cc

import (
	"fmt"
	"sort"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
)

// presets are the published parameter sets of an algorithm, by name. The Preset field of
// each is its name.
type presets[P any] map[string]P

// params returns a copy of an existing set.
func (s presets[P]) params(name string) *P {
	p := s[name]
	return &p
}

// apply sets p to the set with the given name.
func (s presets[P]) apply(p *P, name string) error {
	set, ok := s[name]
	if !ok {
		return registry.Unknown("preset", name, s.names())
	}
	*p = set
	return nil
}

func (s presets[P]) names() []string {
	var names []string
	for n := range s {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// positive returns an error unless a parameter is greater than zero.
func positive[T interface {
	~int64
	fmt.Stringer
}](key string, v T) error {
	if v > 0 {
		return nil
	}
	return fmt.Errorf("%s is %s (expected more than %s)", key, v, T(0))
}

// oneOf returns the index of a word in the list of permitted words.
func oneOf(key, word string, allowed ...string) (int, error) {
	for i, a := range allowed {
		if a == word {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s is %q (allowed: %s)", key, word, strings.Join(allowed, ", "))
}
