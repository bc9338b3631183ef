// Package mutant runs tests of code that has a mistake in it. Tests of what a piece
// of code promises are worth something when they find such mistakes.
package mutant

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
)

// MustCatch runs `go test` with arguments and with one change in a source file, which
// the tests must not survive. The file itself stays as it is. Mutants run beside each
// other, and in turns; that the place is still there is always checked.
func MustCatch(t *testing.T, file, right, wrong string, test ...string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), right); n != 1 {
		t.Fatalf("%q is %d times in %s: the mutant needs another place", right, n, file)
	}
	deep.Turn(t)
	t.Parallel()
	folder := t.TempDir()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay := filepath.Join(folder, filepath.Base(file)), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{changed: strings.Replace(string(source), right, wrong, 1), overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", append([]string{"test", "-overlay", overlay, "-count=1", "-timeout=10m"}, test...)...)
	cmd.Env = append(os.Environ(), "XOFF_TURN=") // all cases of deep tests
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case strings.Contains(text, "[build failed]"):
		t.Fatalf("does not build:\n%s", text)
	case err == nil:
		t.Error("not caught")
	default:
		t.Logf("caught: %.300s", text)
	}
}
