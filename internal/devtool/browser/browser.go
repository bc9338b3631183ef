// Package browser tests pages in a headless browser, as a reader uses them.
package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed before.js
var before string

//go:embed after.js
var after string

// Need returns the path of Chromium. It skips the test if there is none.
func Need(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser several times")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs chromium, chromium-browser or google-chrome in PATH")
	return ""
}

// Use opens a page at 1400 x 900 and 390 x 844, light and dark, and uses everything on it: the
// page loads nothing, has no errors, is legible, and figures, maps and tables work. It calls
// Errorf for every failed check and Fatalf if the browser fails; least is the least number of
// checks.
func Use(t *testing.T, browser, page string, least int) {
	t.Helper()
	page = strings.Replace(page, "<title>", "<script>"+before+"</script><title>", 1)
	page = strings.Replace(page, "</body>", "<script>"+after+"</script></body>", 1)
	for _, size := range [][2]int{{1400, 900}, {390, 844}} {
		path := filepath.Join(t.TempDir(), "page.html")
		if size[0] < 500 { // browser windows are not narrower: use a frame
			page = fmt.Sprintf(`<!DOCTYPE html><html><body style="margin:0"><iframe style="border:0" width="%d" height="%d" srcdoc="%s"></iframe></body></html>`,
				size[0], size[1], html.EscapeString(page))
		}
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, dark := range []bool{false, true} {
			look(t, browser, path, size, dark, least)
		}
	}
}

// look opens a page and reports its failed checks.
func look(t *testing.T, browser, path string, size [2]int, dark bool, least int) {
	t.Helper()
	name := fmt.Sprintf("%d px, dark %t", size[0], dark)
	scheme := 1
	if dark {
		scheme = 0
	}
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1", "--virtual-time-budget=5000",
		fmt.Sprintf("--window-size=%d,%d", max(size[0], 500), size[1]), fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme),
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+path)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	_, rest, found := strings.Cut(string(out), `<pre id="result">`)
	text, _, _ := strings.Cut(rest, "</pre>")
	var got struct {
		Width      int
		Dark       bool
		Wrong, Did []string
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(text)), &got); !found || err != nil {
		t.Fatalf("%s: the page has no result: %v\n%.2000s", name, err, out)
	}
	if got.Width != size[0] || got.Dark != dark || len(got.Did) < least {
		t.Errorf("%s: the browser had %d px, dark %t, and ran %d checks (expected at least %d)", name, got.Width, got.Dark, len(got.Did), least)
	}
	for _, w := range got.Wrong {
		t.Errorf("%s: failed: %s", name, w)
	}
}
