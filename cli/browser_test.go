package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/browser"
)

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Pages of a run, a comparison, checks and an index work in a browser: zoom, search, sorting and
// filters, on large and small screens, light and dark, without errors.
func TestPagesInBrowser(t *testing.T) {
	chromium := browser.Need(t)
	dir := t.TempDir()
	at := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	busy := filepath.Join("testdata", "busy.yaml")
	short := []string{"--set", "run.arrivals=200us", "--quiet"}
	command(t, 0, append([]string{"run", busy, "--explain", "-o", at("results", "run")}, short...)...)
	command(t, 0, append([]string{"compare", busy, "--vary", "switch.policy.alpha=1/16,1/4", "-o", at("results", "compare")}, short...)...)
	for i := range 9 {
		if err := os.CopyFS(at("results", fmt.Sprintf("copy%d", i)), os.DirFS(at("results", "run"))); err != nil {
			t.Fatal(err)
		}
	}
	command(t, 0, "report", at("results"), "--quiet")
	command(t, 1, "check", filepath.Join("..", "examples", "dsh-fig16.yaml"), "--html", at("check.html"), "--quiet")
	for i, name := range []string{"leaf", "leaf-mended", "leaf"} {
		text := readText(t, filepath.Join("..", "docs", "sonic", name+".json"))
		writeText(t, at("switches", fmt.Sprintf("leaf%d.json", i)), strings.ReplaceAll(text, `"leaf1"`, fmt.Sprintf(`"leaf%d"`, i)))
	}
	writeText(t, at("cables.csv"), "leaf0,Ethernet12,leaf1,Ethernet12\nleaf1,Ethernet8,leaf2,Ethernet12\n")
	command(t, 1, "check", at("switches"), "--cables", at("cables.csv"), "--html", at("switches.html"), "--quiet")
	for name, least := range map[string]int{
		at("results", "run", "report.html"):     40,
		at("results", "compare", "report.html"): 15,
		at("results", "index.html"):             15,
		at("check.html"):                        25,
		at("switches.html"):                     25,
	} {
		t.Run(filepath.Base(filepath.Dir(name))+" "+filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			browser.Use(t, chromium, readText(t, name), least)
		})
	}
}
