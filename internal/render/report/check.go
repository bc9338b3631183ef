package report

import (
	"fmt"
	"path"
	"strings"
)

// check returns an error if the document is invalid.
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
					return fmt.Errorf("report: invalid figure name: %q (expected a relative path of letters, digits, - _ . and /)", b.Name)
				}
				if names[b.Name] {
					return fmt.Errorf("report: two figures have the name %q", b.Name)
				}
				names[b.Name] = true
			case *Table:
				for _, row := range b.Rows {
					if len(row) != len(b.Columns) {
						return fmt.Errorf("report: table %q: row has %d cells (expected %d)", b.Caption, len(row), len(b.Columns))
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

// span is a part of a text, either plain or code.
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
