package tests

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/cli"
)

// Three figures of docs/reproduction are redrawn as PDF; poppler finds a page and labels.
func TestPlotPDF(t *testing.T) {
	for _, tool := range []string{"pdfinfo", "pdftotext"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is missing (package poppler-utils)", tool)
		}
	}
	data, dir := filepath.Join(root, "docs/reproduction/data")+"/", t.TempDir()
	for name, c := range map[string]struct {
		args   []string
		labels []string
	}{
		"bifrost-13":     {[]string{"--kind", "bars", "--x", "scheme", "--y", "mean,p99", "--panels", "case"}, []string{"FB_Hadoop", "web search", "PFC", "mean FCT (ms)", "p99 FCT (ms)"}},
		"roundabout-12a": {[]string{"--x", "x", "--y", "onset,confirmed.min"}, []string{"onset (us)", "confirmed, min (us)"}},
		"dsh-14":         {[]string{"--kind", "time", "--y", "f0", "--panels", "case"}, []string{"no CC", "PowerTCP", "throughput of F0 (Gbps)", "time (ms)"}},
	} {
		file := filepath.Join(dir, name+".pdf")
		var out, errs bytes.Buffer
		if code := cli.Run(append([]string{"plot", data + name + "-quick.json", "-o", file, "--size", "7in"}, c.args...), &out, &errs); code != 0 {
			t.Fatalf("%s: %d: %s", name, code, &errs)
		}
		info, err := exec.Command("pdfinfo", file).Output()
		if err != nil || !regexp.MustCompile(`(?m)^Pages: +1$`).Match(info) || !regexp.MustCompile(`(?m)^Page size: +504 x `).Match(info) {
			t.Errorf("%s: %v: pdfinfo prints\n%s", name, err, info)
		}
		text, err := exec.Command("pdftotext", "-raw", file, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, label := range c.labels {
			words := strings.Join(strings.Fields(string(text)), " ") // rotated words have lines of their own
			if !strings.Contains(words, label) {
				t.Errorf("%s: pdftotext does not find %q in\n%s", name, label, words)
			}
		}
	}
}

// docs/notebook.py contains the queries and functions of docs/notebook.md. CI runs its queries
// with DuckDB. With Python, DuckDB and pandas at hand the script runs here, too.
func TestNotebook(t *testing.T) {
	script, page := readText(t, filepath.Join(root, "docs/notebook.py")), readText(t, filepath.Join(root, "docs/notebook.md"))
	blocks := regexp.MustCompile("(?ms)^```(sql|python)\n(.*?)^```$").FindAllStringSubmatch(page, -1)
	if len(blocks) < 6 {
		t.Errorf("the page has only %d blocks", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(script, b[2]) {
			t.Errorf("docs/notebook.py does not contain the block\n%s", b[2])
		}
	}
	if exec.Command("python3", "-c", "import duckdb, pandas").Run() != nil {
		t.Skip("Python with duckdb and pandas is missing; .ci/duckdb runs the queries")
	}
	sweep := filepath.Join(t.TempDir(), "sweep")
	shell(t, root, "xoff sweep cli/testdata/busy.yaml --seeds 2 --vary hosts.cc.name=dcqcn,none --quiet -o "+sweep)
	if printed := shell(t, root, "python3 docs/notebook.py "+sweep); !strings.Contains(printed, "incast") {
		t.Errorf("the script prints\n%s", printed)
	}
}
