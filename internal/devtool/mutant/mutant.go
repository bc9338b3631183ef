// Package mutant runs tests of code that has a mistake in it. Tests of what a piece
// of code promises are worth something when they find such mistakes.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

// MustCatch runs `go test` with arguments and with one change in a function of the module,
// which the tests must not survive. The function is T.Name for a method and Name for
// others; files and packages may change, but it must contain right exactly once. The file
// itself stays as it is.
//
// Without the build tag deep nothing is compiled: MustCatch only checks that the function
// and its text are still there. With it mutants run in parallel, and in turns.
func MustCatch(t *testing.T, function, right, wrong string, test ...string) {
	t.Helper()
	source, err := modulePlaces().find(function, right)
	if err != nil {
		t.Fatalf("%v; fix: update function or text of this mutant", err)
	}
	if !compile {
		return
	}
	deep.Turn(t)
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
	cmd.Env = append(os.Environ(), "XOFF_TURN=") // all cases of deep tests
	out, err := cmd.CombinedOutput()
	said := string(out)
	switch {
	case strings.Contains(said, "[build failed]"):
		t.Fatalf("does not build:\n%s", said)
	case err == nil:
		t.Error("not caught")
	default:
		t.Logf("caught: %.300s", said)
	}
}

// place is where a mutant changes a file.
type place struct {
	file, text string
	at         int // offset of the change
}

// find returns the place of a text in the one function of that name that contains it.
func (s sources) find(function, right string) (place, error) {
	var found []place
	var near []string // functions of that name
	for file, text := range s {
		for _, f := range functionsOf(file, text, function) {
			body := text[f.from:f.to]
			near = append(near, fmt.Sprintf("%s:%d has it %d times", file, f.line, strings.Count(body, right)))
			if strings.Count(body, right) == 1 {
				found = append(found, place{file, text, f.from + strings.Index(body, right)})
			}
		}
	}
	switch {
	case len(near) == 0:
		return place{}, fmt.Errorf("no function %s in the module", function)
	case len(found) != 1:
		return place{}, fmt.Errorf("%d functions %s contain %q once (expected 1): %s", len(found), function, right, strings.Join(near, ", "))
	}
	return found[0], nil
}
