// Command release makes the archives of a release: the programs without a dependency on
// the system, completions for shells, man pages. The same sources, version and Go give
// the same bytes on every machine.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/cli"
	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

const allFor = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

// programs are the programs of an archive.
var programs = []struct {
	name    string
	version string // variable that the linker sets
	command func() *cobra.Command
}{
	{"xoff", "github.com/xoff-net/xoff/cli.release", cli.Command},
	{"xoff-hub", "github.com/xoff-net/xoff/cmd/xoff-hub/hub.release", hub.Command},
}

func main() {
	version := flag.String("version", "", "what the program calls itself, such as v0.1.0")
	targets := flag.String("for", allFor, "systems, as OS/ARCH joined by commas")
	folder := flag.String("o", "dist", "folder of the archives")
	flag.Parse()
	if err := release(*version, strings.Split(*targets, ","), *folder); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// release writes an archive for each system, and the checksums of all.
func release(version string, targets []string, folder string) error {
	if version == "" || strings.ContainsAny(version, "/ ") {
		return fmt.Errorf("the version is %q; allowed: -version with a name such as v0.1.0", version)
	}
	if err := disk.Prepare(folder); err != nil {
		return err
	}
	common, err := commonFiles(version)
	if err != nil {
		return err
	}
	sums := ""
	for _, target := range targets {
		system, arch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("%q is no system; allowed: OS/ARCH, such as linux/amd64", target)
		}
		files := slices.Clone(common)
		for _, p := range programs {
			binary, err := build(p.name, p.version+"="+version, system, arch)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p.name, target, err)
			}
			files = append(files, file{p.name, binary, true})
		}
		top := fmt.Sprintf("xoff-%s-%s-%s", version, system, arch)
		var packed bytes.Buffer
		if err := archive(&packed, top, files); err != nil {
			return err
		}
		name := top + ".tar.gz"
		if err := write(filepath.Join(folder, name), packed.Bytes()); err != nil {
			return err
		}
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(packed.Bytes()), name)
		fmt.Println(filepath.Join(folder, name))
	}
	return write(filepath.Join(folder, "SHA256SUMS"), []byte(sums))
}

func write(path string, data []byte) error {
	return disk.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// build compiles a program for a system. Its version comes from the linker alone: neither
// paths nor the state of a repository show in it.
func build(name, version, system, arch string) (binary []byte, err error) {
	temp, err := os.MkdirTemp("", "xoff-release-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	out := filepath.Join(temp, name)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+version, "-o", out, "github.com/xoff-net/xoff/cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// commonFiles are what archives of all systems hold: texts, completions, man pages.
func commonFiles(version string) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("not in the folder of the sources: %w", err)
		}
		files = append(files, file{name, data, false})
	}
	for _, p := range programs {
		shells, err := completions(p.command())
		if err != nil {
			return nil, err
		}
		files = append(append(files, shells...), manual(p.command(), version)...)
	}
	return files, nil
}

// completions are the scripts that let shells complete commands, under the names by
// which shells find them.
func completions(root *cobra.Command) ([]file, error) {
	var files []file
	for _, shell := range []struct {
		name     string
		generate func(io.Writer) error
	}{
		{"completions/bash/" + root.Name(), func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"completions/zsh/_" + root.Name(), root.GenZshCompletion},
		{"completions/fish/" + root.Name() + ".fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
	} {
		var text bytes.Buffer
		if err := shell.generate(&text); err != nil {
			return nil, err
		}
		files = append(files, file{shell.name, text.Bytes(), false})
	}
	return files, nil
}
