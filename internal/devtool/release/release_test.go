package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"

	"github.com/xoff-net/xoff/cli"
	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
)

// An archive does not depend on the order of files, the time or the machine.
func TestArchivesAreTheSame(t *testing.T) {
	files := []file{{"xoff", []byte("program"), true}, {"LICENSE", []byte("text"), false}, {"man/man1/xoff.1", []byte("page"), false}}
	var a, b bytes.Buffer
	if err := errors.Join(archive(&a, "top", files), archive(&b, "top", []file{files[2], files[0], files[1]})); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the archive depends on the order of files")
	}
	packed, err := gzip.NewReader(&a)
	if err != nil {
		t.Fatal(err)
	}
	if !packed.ModTime.IsZero() {
		t.Errorf("the archive contains the time %v", packed.ModTime)
	}
	var got []string
	for in := tar.NewReader(packed); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o %d %q%s %s", h.Name, h.Mode, h.ModTime.Unix(), h.Uname, h.Gname, data))
	}
	// 2000-01-01 is 946684800 seconds after 1970: 30 years with 7 leap days.
	want := []string{`top/LICENSE 644 946684800 "" text`, `top/man/man1/xoff.1 644 946684800 "" page`, `top/xoff 755 946684800 "" program`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCommonFiles(t *testing.T) {
	t.Chdir("../../..")
	files, err := commonFiles("v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	text := make(map[string]string)
	for _, f := range files {
		if text[f.name] != "" || len(f.data) == 0 || f.program {
			t.Errorf("%s is empty, a duplicate, or executable", f.name)
		}
		text[f.name] = string(f.data)
	}
	for name, parts := range map[string][]string{
		"LICENSE":                    {"Apache License"},
		"completions/bash/xoff":      {"__start_xoff"},
		"completions/zsh/_xoff":      {"#compdef xoff"},
		"completions/fish/xoff.fish": {"complete -c xoff"},
		"man/man1/xoff.1": {
			`.TH "XOFF" "1" "" "xoff v1.2.3" "xoff"`, ".SH EXIT STATUS", `\fBxoff\-sweep\fR(1)`,
		},
		"man/man1/xoff-run.1": {
			".SH NAME\nxoff\\-run \\- Run a scenario file; \\- is standard input\n", `\fB\-\-force\fR`, ".SH OPTIONS\n",
			`\fB\-o, \-\-output\fR \fIFOLDER\fR`, "(default: the number of cores)",
		},
		"man/man1/xoff-sweep.1": {
			".nf\n  xoff sweep mine.yaml \\-\\-vary switch.policy.alpha=1/16,1/8,1/4 \\-\\-seeds 5\n",
		},
		"man/man1/xoff-completion-bash.1": {".SH SYNOPSIS"},
		"man/man1/xoff-hub.1":             {`.TH "XOFF\-HUB" "1" "" "xoff v1.2.3" "xoff"`, `\fB\-\-token\-file\fR`},
		"completions/bash/xoff-hub":       {"__start_xoff-hub"},
	} {
		for _, part := range parts {
			if !strings.Contains(text[name], part) {
				t.Errorf("%s does not contain %q", name, part)
			}
		}
	}
	if strings.Contains(text["man/man1/xoff-run.1"], "window") {
		t.Error("a hidden flag is in the manual")
	}
}

// groff, where it is installed, formats every man page without a warning.
func TestManPagesRead(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("no groff")
	}
	for _, f := range append(manual(cli.Command(), "v1.2.3"), manual(hub.Command(), "v1.2.3")...) {
		cmd := exec.Command("groff", "-man", "-Tascii", "-ww", "-z")
		cmd.Stdin = bytes.NewReader(f.data)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", f.name, err, out)
		}
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"--set a": `\-\-set a`, ".TH": `\&.TH`, "'quoted'": `\&'quoted'`, `a\b`: `a\eb`, "two\nlines": "two lines",
	} {
		if got := escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestLicences(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"LICENSE.txt", "NOTICE", "main.go"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := parseLicences("example.org/a/b\tMIT\t" + filepath.Join(folder, "LICENSE.txt") + "\n")
	if err != nil {
		t.Fatal(err)
	}
	files, err := licenceFiles(list)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	if want := []string{"licenses/example.org/a/b/NOTICE", "licenses/example.org/a/b/LICENSE.txt", "licenses/go/LICENSE"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	for _, text := range []string{"", "a\tUnknown\t/x\n", "a\tMIT\t\n", "a\n"} {
		if _, err := parseLicences(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestBillOfMaterials(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}, // of nothing
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
	}}
	licences := []licence{{"example.org/a/x", "MIT", ""}, {"example.org/a", "BSD-3-Clause", ""}, {"example.org/a/y", "MIT", ""}, {"example.org/c", "ISC", ""}}
	data, err := bomOf(info, "xoff", "v1.2.3", strings.Repeat("0", 64), licences)
	if err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(data), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range *bom.Components {
		text := c.PackageURL
		for _, l := range *c.Licenses {
			text += " " + l.License.ID
		}
		got = append(got, text)
	}
	if want := []string{"pkg:golang/std@1.26.8 BSD-3-Clause", "pkg:golang/example.org/a@v1.0.0 BSD-3-Clause MIT", "pkg:golang/example.org/c@v2.0.0 ISC"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// The SHA-256 of nothing.
	if h := (*(*bom.Components)[1].Hashes)[0].Value; h != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("hash %s", h)
	}
	if bom.SpecVersion != cyclonedx.SpecVersion1_6 || bom.Metadata.Component.Name != "xoff" || bom.SerialNumber != "" || bom.Metadata.Timestamp != "" {
		t.Errorf("%s", data)
	}
	if _, err := bomOf(info, "xoff", "v1.2.3", "", licences[:3]); err == nil || !strings.Contains(err.Error(), "no licence found for module example.org/c") {
		t.Errorf("a module without a licence: %v", err)
	}
}

func TestBadVersions(t *testing.T) {
	for _, version := range []string{"", "a/b", "a b"} {
		if err := release(version, nil, t.TempDir()); err == nil {
			t.Errorf("%q: no error", version)
		}
	}
}
