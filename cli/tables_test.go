package cli

import (
	"bytes"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// Columns that do not fit follow below, with the key column repeated. The key column takes
// 2 + 2 characters. Three columns of 30 end at 4 + 30 + 2 + 30 + 2 + 30 = 98; a fourth
// would end at 130.
func TestTablesFit(t *testing.T) {
	wide := strings.Repeat("±", 30)
	var out bytes.Buffer
	w := &sheet{tab: tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)}
	w.sheet(&sweep.Sheet{
		Head: []string{"k", "a", "b", "c", "d"}, Keys: 1,
		Lines:   [][]string{{"x1", wide, wide, wide, "1"}, {"a heading"}, {"x2", "1", wide, "=", "-"}},
		Same:    []string{strings.Repeat("p", 60) + " 0", strings.Repeat("q", 40) + " 0"},
		Trouble: [][]string{{"x1", "failed"}},
	})
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	pad := func(s string) string { return s + strings.Repeat(" ", 32-len([]rune(s))) }
	want := strings.Join([]string{
		"k   " + pad("a") + pad("b") + "c",
		"x1  " + pad(wide) + pad(wide) + wide,
		"a heading",
		"x2  " + pad("1") + pad(wide) + "=",
		"",
		"k   d",
		"x1  1",
		"a heading",
		"x2  -",
		"",
		"identical in all: " + strings.Repeat("p", 60) + " 0,",
		"  " + strings.Repeat("q", 40) + " 0",
		"",
		"x1  failed",
		"",
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
