package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsPlot runs the commands of docs/plot.md. Their figures must equal the files that
// the page shows, which -rewrite replaces.
func TestDocsPlot(t *testing.T) {
	if testing.Short() {
		t.Skip("runs simulations one by one: nothing for the race detector")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	work, page := t.TempDir(), filepath.Join(root, "docs/plot.md")
	for _, folder := range []string{"docs", "examples"} {
		if err := os.Symlink(filepath.Join(root, folder), filepath.Join(work, folder)); err != nil {
			t.Fatal(err)
		}
	}
	consoles(t, page, func(command string) string { return shell(t, work, command) })
	figures := regexp.MustCompile(`\]\(img/plot/([a-z0-9-]+\.svg)\)`).FindAllStringSubmatch(readText(t, page), -1)
	if len(figures) < 9 {
		t.Errorf("the page has only %d figures", len(figures))
	}
	for _, m := range figures {
		made, shown := readText(t, filepath.Join(work, m[1])), filepath.Join(root, "docs/img/plot", m[1])
		if *rewrite {
			if err := os.WriteFile(shown, []byte(made), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if made != readText(t, shown) {
			t.Errorf("%s differs from the output of the command above it; run make docs", shown)
		}
	}
	t.Run("code", func(t *testing.T) { drawsTheSame(t, work) })
}

// drawsTheSame runs the script that --code wrote. CSV files stand for Parquet files, so that
// it needs no pyarrow.
func drawsTheSame(t *testing.T, work string) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import matplotlib, pandas").Run() == nil {
			python = name
		}
	}
	if python == "" {
		t.Skip("Python with matplotlib and pandas is missing")
	}
	stand := "import pandas\npandas.read_parquet = lambda path: pandas.read_csv(str(path).replace('.parquet', '.csv'))\n"
	if err := os.WriteFile(filepath.Join(work, "sitecustomize.py"), []byte(stand), 0o644); err != nil {
		t.Fatal(err)
	}
	shell(t, work, "PYTHONPATH=. "+python+" figure.py script.svg")
	drawn := readText(t, filepath.Join(work, "script.svg"))
	for _, text := range []string{"alpha", "slowdown, 99th percentile", "dcqcn", "none"} {
		if !strings.Contains(drawn, ">"+text+"<") {
			t.Errorf("the script drew no text %q", text)
		}
	}
}

// Three figures of docs/reproduction are redrawn as PDF; poppler finds a page and labels.
func TestPlotPDF(t *testing.T) {
	for _, tool := range []string{"pdfinfo", "pdftotext"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is missing (package poppler-utils)", tool)
		}
	}
	data, dir := "../docs/reproduction/data/", t.TempDir()
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
		if code := Run(append([]string{"plot", data + name + "-quick.json", "-o", file, "--size", "7in"}, c.args...), &out, &errs); code != exitOK {
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
func TestDocsNotebook(t *testing.T) {
	script, page := readText(t, "../docs/notebook.py"), readText(t, "../docs/notebook.md")
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
	var out, errs bytes.Buffer
	if code := Run([]string{"sweep", "testdata/busy.yaml", "--seeds", "2", "--vary", "hosts.cc.name=dcqcn,none", "--quiet", "-o", sweep}, &out, &errs); code != exitOK {
		t.Fatal(code, errs.String())
	}
	if printed := shell(t, ".", "python3 ../docs/notebook.py "+sweep); !strings.Contains(printed, "incast") {
		t.Errorf("the script prints\n%s", printed)
	}
}
