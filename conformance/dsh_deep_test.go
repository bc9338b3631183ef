//go:build deep

package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDeepDSHLosesNothing(t *testing.T) { losesNothing(t, 10_000) }

// DSH with one mistake in its source: the property must find each of them.
func TestDeepMistakesInDSHAreCaught(t *testing.T) {
	const file = "../flowctl/dsh.go"
	for _, m := range []struct{ name, right, wrong string }{
		{"an empty queue stays OFF while T is below tau (step 5)", " || in.Shared+in.Headroom+in.Reserve == 0\n", "\n"},
		{"the port resumes while its insurance is in use", " && v.PortIn(r.index, mmu.Headroom)+v.PortIn(r.index, mmu.Reserve) == 0", ""},
		{"the insurance does not pause the port", "if s == mmu.Headroom {", "if s == mmu.Drop {"},
		{"the insurance is one frame short", "mmu.Headroom)+a.Bytes <= r.insurance:", "mmu.Headroom)+a.Bytes <= r.insurance-1048:"},
		{"a port that is empty stays OFF", "(shared < limit-r.deltaP || shared == 0)", "shared < limit-r.deltaP"},
	} {
		t.Run(m.name, func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.right); n != 1 {
				t.Fatalf("%q is %d times in %s: the mutant needs another place", m.right, n, file)
			}
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			mutant, overlay := filepath.Join(folder, "dsh.go"), filepath.Join(folder, "overlay.json")
			replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string]string{mutant: strings.Replace(string(source), m.right, m.wrong, 1), overlay: string(replace)} {
				if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-timeout=10m", "-run=^TestDSHLosesNothing$", ".").CombinedOutput()
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
