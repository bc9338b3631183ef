package cli

import (
	"bytes"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// Columns that do not fit stand below, with the keys again: 2 + 2 keys and gap, then
// 3 columns of 30 and their gaps are 4 + 30 + 2 + 30 + 2 + 30 = 98, a fourth would end
// at 130.
func TestTablesFit(t *testing.T) {
	wide := strings.Repeat("±", 30)
	var out bytes.Buffer
	w := &sheet{tab: tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)}
	w.sheet(&sweep.Sheet{
		Head: []string{"k", "a", "b", "c", "d"}, Keys: 1,
		Lines:   [][]string{{"x1", wide, wide, wide, "1"}, {"a heading of its own"}, {"x2", "1", wide, "=", "-"}},
		Same:    []string{strings.Repeat("p", 60) + " 0", strings.Repeat("q", 40) + " 0"},
		Trouble: [][]string{{"x1", "went wrong"}},
	})
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	pad := func(s string) string { return s + strings.Repeat(" ", 32-len([]rune(s))) }
	want := strings.Join([]string{
		"k   " + pad("a") + pad("b") + "c",
		"x1  " + pad(wide) + pad(wide) + wide,
		"a heading of its own",
		"x2  " + pad("1") + pad(wide) + "=",
		"",
		"k   d",
		"x1  1",
		"a heading of its own",
		"x2  -",
		"",
		"the same in all: " + strings.Repeat("p", 60) + " 0,",
		"  " + strings.Repeat("q", 40) + " 0",
		"",
		"x1  went wrong",
		"",
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
