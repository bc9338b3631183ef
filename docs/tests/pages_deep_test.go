//go:build deep

package tests

import (
	"regexp"
	"testing"
)

// TestDeepPages runs all commands of the pages. With -rewrite it writes their output.
func TestDeepPages(t *testing.T) {
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			work := p.follow(t, regexp.MustCompile("."))
			if p.name == "plot.md" {
				plotted(t, work)
			}
		})
	}
}

// TestDeepTutorial runs the commands of docs/extend.md, which build a program.
func TestDeepTutorial(t *testing.T) {
	t.Parallel()
	tutorial(t, true)
}
