//go:build deep

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A build from an empty cache gives the same bytes as one from the cache of this machine.
func TestDeepBuildsAreTheSame(t *testing.T) {
	var binaries [2][]byte
	for i := range binaries {
		if i == 1 {
			t.Setenv("GOCACHE", t.TempDir())
		}
		var err error
		if binaries[i], err = build("xoff", module+"/cli.release=v1.2.3", "linux", "amd64"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(binaries[0], binaries[1]) {
		t.Errorf("two builds differ: %d bytes and %d", len(binaries[0]), len(binaries[1]))
	}
}

// Every third-party module in the programs has a licence, and its text is in the archive.
func TestDeepLicencesOfPrograms(t *testing.T) {
	finder, err := newLicenceFinder()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = finder.close() }()
	licences, err := finder.find("linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	files, err := licenceFiles(licences)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, f := range files {
		if names[f.name] || len(f.data) == 0 {
			t.Errorf("%s is empty or there twice", f.name)
		}
		names[f.name] = true
	}
	if !names[filepath.Join("licenses", "github.com/spf13/cobra", "LICENSE.txt")] || !names["licenses/go/LICENSE"] {
		t.Errorf("%v", names)
	}
	for _, p := range programs {
		binary, err := build(p.name, p.version+"=v1.2.3", "linux", "amd64")
		if err != nil {
			t.Fatal(err)
		}
		bom, err := sbom(p.name, "v1.2.3", binary, licences)
		if err != nil || !strings.Contains(string(bom), `"purl": "pkg:golang/github.com/spf13/cobra@v`) {
			t.Errorf("%s: %v\n%s", p.name, err, bom)
		}
	}
}
