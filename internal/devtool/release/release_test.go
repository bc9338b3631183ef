package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/cli"
	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
)

// The order in which files come does not show; neither time nor machine do.
func TestArchivesAreTheSame(t *testing.T) {
	files := []file{{"xoff", []byte("program"), true}, {"LICENSE", []byte("text"), false}, {"man/man1/xoff.1", []byte("page"), false}}
	var a, b bytes.Buffer
	if err := errors.Join(archive(&a, "top", files), archive(&b, "top", []file{files[2], files[0], files[1]})); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the order of files shows")
	}
	packed, err := gzip.NewReader(&a)
	if err != nil {
		t.Fatal(err)
	}
	if !packed.ModTime.IsZero() {
		t.Errorf("the time of packing shows: %v", packed.ModTime)
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
			t.Errorf("%s is empty, there twice, or a program", f.name)
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
			`\fB\-o, \-\-output\fR \fIFOLDER\fR`, "(default: as many as there are cores)",
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
				t.Errorf("%s does not have %q", name, part)
			}
		}
	}
	if strings.Contains(text["man/man1/xoff-run.1"], "window") {
		t.Error("a hidden flag is in the manual")
	}
}

// A man page reads without complaint, where there is something to read it with.
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

func TestBadVersions(t *testing.T) {
	for _, version := range []string{"", "a/b", "a b"} {
		if err := release(version, nil, t.TempDir()); err == nil {
			t.Errorf("%q is taken", version)
		}
	}
}
