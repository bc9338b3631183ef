// Package mutant checks that tests catch mistakes: it plants them in the source and runs the
// tests, which must fail.
//
// All mistakes of a group are compiled at once. Each function with mistakes gets one copy of
// itself per mistake and begins with a switch, which calls the copy whose number an environment
// variable has. The changes are an overlay: no file is modified.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Group is a list of mutants that are compiled together.
type Group struct{ list []mutation }

// mutation is one mistake, and the `go test` arguments that must find it.
type mutation struct {
	name, function, right, wrong string
	test                         []string
	at                           site
}

// Add adds a mutant: right is replaced by wrong in a function of the module. The function is
// T.Name for a method and Name otherwise, in any file or package. It must contain right exactly
// once. The test arguments are
// -run=PATTERN, -failfast, -tags=TAGS, and packages.
func (g *Group) Add(name, function, right, wrong string, test ...string) {
	g.list = append(g.list, mutation{name: name, function: function, right: right, wrong: wrong, test: test})
}

// MustCatch runs the tests of each mutant; t fails if they pass.
//
// Without the build tag deep nothing is compiled: MustCatch only checks that each function
// still contains the text.
func (g *Group) MustCatch(t *testing.T) {
	t.Helper()
	for i := range g.list {
		m := &g.list[i]
		var err error
		if m.at, err = moduleSources().find(m.function, m.right); err != nil {
			t.Fatalf("%s: %v; fix: update the function or the text of this mutant", m.name, err)
		}
	}
	if !compile {
		return
	}
	folder := t.TempDir()
	overlay := writeOverlay(t, folder, g.list)
	programs := make(map[string]string) // test binaries by package and tags
	for _, m := range g.list {
		for _, p := range packages(m.test) {
			if key := p + tags(m.test); programs[key] == "" {
				programs[key] = filepath.Join(folder, fmt.Sprintf("test%d", len(programs)))
				if out, err := exec.Command("go", "test", "-c", "-vet=off", tags(m.test), "-overlay", overlay, "-o", programs[key], p).CombinedOutput(); err != nil {
					t.Fatalf("the mutants do not build: %v\n%s", err, out)
				}
			}
		}
	}
	run := func(number int, test []string) (output string, passed bool) {
		for _, p := range packages(test) {
			cmd := exec.Command(programs[p+tags(test)], arguments(test)...)
			cmd.Dir = directory(t, p)
			cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(number))
			if out, err := cmd.CombinedOutput(); err != nil {
				return string(out), false
			}
		}
		return "", true
	}
	var whole []string // tests that passed without a mistake
	for i, m := range g.list {
		if key := strings.Join(m.test, "\x00"); !slices.Contains(whole, key) {
			whole = append(whole, key)
			t.Run("no mistake "+strings.Join(m.test, " "), func(t *testing.T) {
				t.Parallel()
				if out, passed := run(0, m.test); !passed {
					t.Errorf("the tests fail without a mutant:\n%s", out)
				}
			})
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, passed := run(i+1, m.test)
			if passed {
				t.Fatal("no test failed (expected the tests to catch the mutant)")
			}
			t.Logf("caught: %.300s", out)
		})
	}
}

const tagsFlag = "-tags="

// packages returns the packages of test arguments.
func packages(test []string) (list []string) {
	for _, a := range test {
		if !strings.HasPrefix(a, "-") {
			list = append(list, a)
		}
	}
	return list
}

// tags returns the flag with the build tags of test arguments.
func tags(test []string) string {
	for _, a := range test {
		if strings.HasPrefix(a, tagsFlag) {
			return a
		}
	}
	return tagsFlag
}

// arguments returns the flags of a test binary for test arguments.
func arguments(test []string) []string {
	list := []string{"-test.timeout=10m"}
	for _, a := range test {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, tagsFlag) {
			list = append(list, "-test."+a[1:])
		}
	}
	return list
}

// directory returns the folder of a package: its tests run there.
func directory(t *testing.T, pkg string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pkg, err)
	}
	return strings.TrimSpace(string(out))
}

// writeOverlay writes the changed files and an overlay that names them.
func writeOverlay(t *testing.T, folder string, list []mutation) string {
	t.Helper()
	replace := make(map[string]string)
	write := func(path, text string) {
		if _, known := replace[path]; known {
			return
		}
		replace[path] = filepath.Join(folder, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range list {
		file := m.at.file
		text, name, err := mutated(file, list)
		if err != nil {
			t.Fatal(err)
		}
		write(file, text)
		write(filepath.Join(filepath.Dir(file), "chosen_mutant.go"), "package "+name+chosen)
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
