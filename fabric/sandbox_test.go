package fabric_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/fabric"
)

// A scenario from another machine cannot read files of this machine through any key.
func TestApartReadsOnlyWhatCameAlong(t *testing.T) {
	folder := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.txt")
	for _, path := range []string{secret, filepath.Join(folder, "input-sizes.txt"), filepath.Join(folder, "other.txt")} {
		if err := os.WriteFile(path, []byte("0 0\n1000 100\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(folder, "link.txt")); err != nil {
		t.Fatal(err)
	}
	sizes := func(generator, file string) string {
		return "workload: [{name: w, generator: " + generator + ", " + file + ", load: {share: 0.1, of: host_links}}]"
	}
	for _, c := range []struct{ text, want string }{
		{sizes("poisson", "sizes: input-sizes.txt"), ""},
		{sizes("poisson", "sizes: websearch"), ""},
		{sizes("poisson", "sizes: other.txt"), `a scenario from another machine cannot read "other.txt"`},
		{sizes("poisson", "sizes: link.txt"), `cannot read "link.txt"`},
		{sizes("poisson", "sizes: ./input-sizes.txt"), `cannot read "./input-sizes.txt"`},
		{"workload: [{name: w, generator: htsim, path: a.cm}]", `cannot read "a.cm"`},
		{"topology: {name: custom, path: " + secret + ".topo}", `cannot read "` + secret + `.topo"`},
		{sizes("poisson", "sizes: "+secret), "on this one (allowed: files sent with it: input-sizes.txt)"},
		{sizes("incast", "senders: 2, sizes: "+secret), "a scenario from another machine cannot read"},
		{"workload: [{name: w, generator: sequential, sizes: " + secret + "}]", "a scenario from another machine cannot read"},
		{"workload: [{name: w, generator: trace, path: " + secret + "}]", "a scenario from another machine cannot read"},
		{"topology: {name: custom, path: " + secret + "}", "a scenario from another machine cannot read"},
		{"topology: {name: custom, path: input-sizes.txt}", "hosts"}, // read, but not a topology
	} {
		_, err := fabric.ParseSandboxed(filepath.Join(folder, "scenario.yaml"), []byte(c.text), []string{"input-sizes.txt"})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
