//go:build deep

package tests

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plotted checks the figures that the commands of docs/plot.md drew. They must equal the files
// that the page shows, which -rewrite replaces.
func plotted(t *testing.T, work string) {
	figures := regexp.MustCompile(`\]\(img/plot/([a-z0-9-]+\.svg)\)`).FindAllStringSubmatch(readText(t, filepath.Join(root, "docs/plot.md")), -1)
	if len(figures) < 9 {
		t.Errorf("the page has only %d figures", len(figures))
	}
	for _, m := range figures {
		made, shown := readText(t, filepath.Join(work, m[1])), filepath.Join(root, "docs/img/plot", m[1])
		if *rewrite {
			writeText(t, shown, made)
		} else if made != readText(t, shown) {
			t.Errorf("%s differs from the output of the command above it; run make docs-outputs", shown)
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
	writeText(t, filepath.Join(work, "sitecustomize.py"), stand)
	shell(t, work, "PYTHONPATH=. "+python+" figure.py script.svg")
	drawn := readText(t, filepath.Join(work, "script.svg"))
	for _, text := range []string{"alpha", "slowdown, 99th percentile", "dcqcn", "none"} {
		if !strings.Contains(drawn, ">"+text+"<") {
			t.Errorf("the script drew no text %q", text)
		}
	}
}
