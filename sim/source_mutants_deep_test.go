//go:build deep

package sim_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The fast engine with one mistake in its source: in the order of events at the
// same time, or in which window a node runs. The comparison with the oracle must
// find each of them.
func TestDeepMistakesInTheEngineAreCaught(t *testing.T) {
	for _, m := range []struct{ name, file, right, wrong string }{
		{"classes of events in reverse", "fastnode.go", "class<<keyPortBits", "(7-class)<<keyPortBits"},
		{"control frames like any other", "arrivals.go", "class = classControl", "class = classArrival"},
		{"windows of twice the lookahead", "fast.go", "windowLength(look /", "windowLength(2 * look /"},
		{"the longer delay of a cable", "spec.go", "min(c.AtoB, c.BtoA)+", "max(c.AtoB, c.BtoA)+"},
		{"far wakes a window late", "fast.go", "w.far[0]>>farNodeBits <= index", "w.far[0]>>farNodeBits < index"},
	} {
		t.Run(m.name, func(t *testing.T) {
			source, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.right); n != 1 {
				t.Fatalf("%q is %d times in %s: the mutant needs another place", m.right, n, m.file)
			}
			folder := t.TempDir()
			path, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			mutant, overlay := filepath.Join(folder, m.file), filepath.Join(folder, "overlay.json")
			replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string]string{mutant: strings.Replace(string(source), m.right, m.wrong, 1), overlay: string(replace)} {
				if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-timeout=10m", "-run=^TestEnginesAgree$", ".").CombinedOutput()
			text := string(out)
			switch {
			case strings.Contains(text, "[build failed]"):
				t.Fatalf("does not build:\n%s", text)
			case err == nil:
				t.Error("not caught")
			default:
				t.Logf("caught: %.300s", text)
			}
		})
	}
}
