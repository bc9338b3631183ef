package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/fatih/color"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// sheet is a text report in aligned columns. It keeps the first write error. Only the last
// cell of a line may have colour: escape codes would break the column widths.
type sheet struct {
	tab *tabwriter.Writer
	err error
}

func (w *sheet) line(format string, args ...any) {
	if _, err := fmt.Fprintf(w.tab, format+"\n", args...); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *sheet) flush() error {
	if err := w.tab.Flush(); err != nil && w.err == nil {
		w.err = err
	}
	return w.err
}

// tableWidth is the largest width of a table in characters.
const tableWidth = 100

// sheet prints a table, then the values that all lines share, then the failures.
func (w *sheet) sheet(t *sweep.Sheet) {
	if len(t.Head) > t.Keys {
		w.fitted(t.Head, t.Keys, t.Lines)
	}
	if len(t.Same) > 0 {
		w.line("")
		w.list("identical in all: ", t.Same)
	}
	if len(t.Trouble) > 0 {
		w.line("")
	}
	for _, line := range t.Trouble {
		last := len(line) - 1
		w.line("%s", strings.Join(append(line[:last:last], color.RedString("%s", line[last])), "  "))
	}
}

// fitted prints a table that is no wider than tableWidth. Columns that do not fit follow
// below, with the key columns repeated. A line with one cell is a heading.
func (w *sheet) fitted(head []string, keys int, lines [][]string) {
	widths := make([]int, len(head))
	for _, line := range append([][]string{head}, lines...) {
		for i := range line {
			if len(line) == len(head) {
				widths[i] = max(widths[i], utf8.RuneCountInString(line[i])+2)
			}
		}
	}
	first := 0
	for i := range keys {
		first += widths[i]
	}
	for from := keys; from < len(head); {
		to, width := from, first
		for to < len(head) && (to == from || width+widths[to]-2 <= tableWidth) {
			width += widths[to]
			to++
		}
		if from > keys {
			w.line("")
		}
		for _, line := range append([][]string{head}, lines...) {
			w.line("%s", tableLine(line, widths, keys, from, to))
		}
		from = to
	}
}

// tableLine formats the key columns of a line and its columns from up to to.
func tableLine(line []string, widths []int, keys, from, to int) string {
	if len(line) == 1 {
		return line[0]
	}
	var text strings.Builder
	for i, cell := range line {
		if i < keys || i >= from && i < to {
			text.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
	}
	return strings.TrimRight(text.String(), " ")
}

// list prints a title and items, and breaks the line at tableWidth.
func (w *sheet) list(title string, items []string) {
	text := title
	for i, item := range items {
		if i < len(items)-1 {
			item += ", "
		}
		if utf8.RuneCountInString(text+strings.TrimSpace(item)) > tableWidth {
			w.line("%s", strings.TrimRight(text, " "))
			text = "  "
		}
		text += item
	}
	w.line("%s", text)
}

// table prints a table. The last cell of a line is an error, in red.
func (w *sheet) table(head []string, lines [][]string) {
	w.line("%s", strings.TrimRight(strings.Join(head, "\t"), "\t"))
	for _, line := range lines {
		last := len(line) - 1
		text := strings.Join(line[:last], "\t")
		if line[last] != "" {
			text += "\t" + color.RedString(line[last])
		}
		w.line("%s", text)
	}
}
