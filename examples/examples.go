// Package examples contains the scenarios that `xoff init` offers. Each file begins with a
// comment whose first sentence says what the scenario shows.
package examples

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"github.com/xoff-net/xoff/base/registry"
)

//go:embed *.yaml
var files embed.FS

// Example is a commented scenario.
type Example struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // first sentence of the comment
	Text string `json:"-"`   // the file
}

// All returns the examples, sorted by name.
var All = sync.OnceValue(func() []Example {
	var list []Example
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		list = append(list, Example{strings.TrimSuffix(e.Name(), ".yaml"), firstSentence(string(text)), string(text)})
	}
	return list
})

// Get returns an example by name. The error for an unknown name lists all names.
func Get(name string) (Example, error) {
	var names []string
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Example{}, registry.Unknown("template", name, names)
}

// firstSentence returns the first sentence of the comment at the top of text, without its
// full stop.
func firstSentence(text string) string {
	var words []string
	for _, line := range strings.Split(text, "\n") {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	for i, w := range words {
		// "Fig. 14" does not end a sentence.
		last := i+1 == len(words) || words[i+1][0] > '9'
		if strings.HasSuffix(w, ".") && last {
			return strings.TrimSuffix(strings.Join(words[:i+1], " "), ".")
		}
	}
	return strings.Join(words, " ")
}
