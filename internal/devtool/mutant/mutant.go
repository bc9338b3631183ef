// Package mutant checks that tests catch mistakes: it plants one in the source and runs the
// tests, which must fail.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// MustCatch replaces right by wrong in a function of the module and runs `go test` with the
// given arguments; t fails if those tests pass. The function is T.Name for a method and
// Name otherwise, in any file or package. It must contain right exactly once. The change is
// an overlay: no file is modified.
//
// Without the build tag deep nothing is compiled: MustCatch only checks that the function
// still contains right. With it, mutants run in parallel.
func MustCatch(t *testing.T, function, right, wrong string, test ...string) {
	t.Helper()
	source, err := moduleSources().find(function, right)
	if err != nil {
		t.Fatalf("%v; fix: update the function or the text of this mutant", err)
	}
	if !compile {
		return
	}
	t.Parallel()
	folder := t.TempDir()
	changed, overlay := filepath.Join(folder, filepath.Base(source.file)), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source.file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	text := source.text[:source.at] + wrong + source.text[source.at+len(right):]
	for name, data := range map[string]string{changed: text, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", append([]string{"test", "-overlay", overlay, "-count=1", "-timeout=10m"}, test...)...)
	out, err := cmd.CombinedOutput()
	output := string(out)
	switch {
	case strings.Contains(output, "[build failed]"):
		t.Fatalf("the mutant does not build:\n%s", output)
	case err == nil:
		t.Error("no test failed (expected the tests to catch the mutant)")
	default:
		t.Logf("caught: %.300s", output)
	}
}

// site is where a mutant changes a file.
type site struct {
	file, text string
	at         int // offset of the change
}

// find returns the site of right in the only function of that name that contains it.
func (s sources) find(function, right string) (site, error) {
	var found []site
	var near []string // locations of functions of that name
	for file, text := range s {
		for _, f := range functionsOf(file, text, function) {
			body := text[f.from:f.to]
			near = append(near, fmt.Sprintf("%s:%d contains it %d times", file, f.line, strings.Count(body, right)))
			if strings.Count(body, right) == 1 {
				found = append(found, site{file, text, f.from + strings.Index(body, right)})
			}
		}
	}
	switch {
	case len(near) == 0:
		return site{}, fmt.Errorf("no function %s in the module", function)
	case len(found) != 1:
		return site{}, fmt.Errorf("%d functions %s contain %q once (expected 1): %s", len(found), function, right, strings.Join(near, ", "))
	}
	return found[0], nil
}
