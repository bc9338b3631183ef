package metrics

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/probe"
)

// A written table reads back unchanged, over several row groups.
func TestReadColumns(t *testing.T) {
	var file bytes.Buffer
	table, err := NewTable([]probe.Column{
		{Name: "a"}, {Name: "may", Nullable: true}, {Name: "yes", Type: probe.Bool}, {Name: "x", Type: probe.Float}, {Name: "word", Type: probe.Text, Texts: []string{"w"}},
	}, &file, nil)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 2*rowGroup + 3
	for i := range int64(rows) {
		may := int64(probe.Null)
		if i%2 == 0 {
			may = -i
		}
		if err := table.Row([]int64{i, may, i % 2, int64(math.Float64bits(float64(i) / 4)), 0}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadColumns(path, "x", "a", "yes", "may")
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		line := fmt.Sprint(got[0][i], got[1][i], got[2][i], got[3][i])
		want := fmt.Sprint(float64(i)/4, float64(i), 1.0, math.NaN())
		if i%2 == 0 {
			want = fmt.Sprint(float64(i)/4, float64(i), 0.0, -float64(i)+0)
		}
		if line != want {
			t.Fatalf("row %d: %s, want %s", i, line, want)
		}
	}
	if len(got[0]) != rows || len(got[3]) != rows {
		t.Errorf("%d and %d rows, want %d", len(got[0]), len(got[3]), rows)
	}
	for name, want := range map[string]string{
		"b":    `there is no column "b" (allowed: a, may, yes, x, word)`,
		"word": `column "word" is not numeric`,
	} {
		if _, err := ReadColumns(path, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := os.WriteFile(path, []byte("no parquet"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadColumns(path, "a"); err == nil {
		t.Error("a file of another format is accepted")
	}
	if _, err := ReadColumns(path+"x", "a"); err == nil {
		t.Error("a missing file is accepted")
	}
}
