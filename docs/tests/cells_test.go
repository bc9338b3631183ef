package tests

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxCell is the largest number of characters of a readable table cell.
const maxCell = 120

// longCells returns the table cells of a page that are longer than maxCell. Lines in
// code blocks are not tables.
func longCells(page string) []string {
	var long []string
	inCode := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if inCode || !strings.HasPrefix(line, "|") {
			continue
		}
		line = strings.ReplaceAll(line, `\|`, "\x00") // one character of a cell
		for _, cell := range strings.Split(line, "|") {
			if cell = strings.TrimSpace(cell); utf8.RuneCountInString(cell) > maxCell {
				long = append(long, strings.ReplaceAll(cell, "\x00", "|"))
			}
		}
	}
	return long
}

// TestTableCells finds table cells that are too long to read.
func TestTableCells(t *testing.T) {
	pages := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 30 {
		t.Errorf("only %d pages were found", len(pages))
	}
	for _, page := range pages {
		for _, cell := range longCells(readText(t, page)) {
			t.Errorf("%s: a table cell has more than %d characters: %s", page, maxCell, cell)
		}
	}
}

func TestLongCells(t *testing.T) {
	fits, long := strings.Repeat("µ", maxCell), strings.Repeat("x", maxCell+1)
	piped := `a \| ` + strings.Repeat("y", maxCell-3)
	for page, want := range map[string][]string{
		"| a | b |\n| --- | --- |\n| " + fits + " | b |\n":   nil,
		"| a | b |\n| --- | --- |\n| " + long + " | b |\n":   {long},
		"  | a | " + long + " |\n":                           {long},
		"| " + piped + " |\n":                                {strings.ReplaceAll(piped, `\|`, "|")},
		long + "\n":                                          nil,
		"```\n| " + long + " |\n```\n":                       nil,
		"```\n| x |\n```\n| " + long + " | " + long + " |\n": {long, long},
	} {
		if got := longCells(page); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}
