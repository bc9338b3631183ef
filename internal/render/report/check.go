package report

import (
	"fmt"
	"path"
	"strings"
)

// check finds mistakes of whoever made the document.
func (d *Document) check() error {
	names := make(map[string]bool)
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			switch b := b.(type) {
			case *Figure:
				if b.Plot == nil {
					return fmt.Errorf("report: figure %q has no plot", b.Name)
				}
				if !fileName(b.Name) {
					return fmt.Errorf("report: %q cannot be the name of a figure; allowed: letters, digits, and - _ . / between them", b.Name)
				}
				if names[b.Name] {
					return fmt.Errorf("report: two figures are named %q", b.Name)
				}
				names[b.Name] = true
			case *Table:
				for _, row := range b.Rows {
					if len(row) != len(b.Columns) {
						return fmt.Errorf("report: a row of %d cells in a table of %d columns (%s)", len(row), len(b.Columns), b.Caption)
					}
				}
			}
		}
	}
	return nil
}

func fileName(name string) bool {
	if name == "" || path.Clean(name) != name || path.IsAbs(name) || strings.HasPrefix(name, "..") {
		return false
	}
	for _, r := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r) {
			return false
		}
	}
	return true
}

func (s *Section) level() int { return max(s.Level, 1) }

func (c *Code) caption() string {
	if c.Caption == "" {
		return "show"
	}
	return c.Caption
}

// span is a part of a text.
type span struct {
	Text string
	Code bool
}

// spans splits a text at pairs of back quotes.
func spans(s string) []span {
	var list []span
	for {
		before, rest, ok := strings.Cut(s, "`")
		code, after, closed := strings.Cut(rest, "`")
		if !ok || !closed || code == "" {
			return append(list, span{Text: s})
		}
		list = append(list, span{Text: before}, span{code, true})
		s = after
	}
}
