// Command release makes the archives of a release: the program without a dependency on
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
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/cli"
	"github.com/xoff-net/xoff/internal/disk"
)

const (
	program = "github.com/xoff-net/xoff/cmd/xoff"
	stamp   = "github.com/xoff-net/xoff/cli.release"
	allFor  = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"
)

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
	common, err := commonFiles(cli.Command(), version)
	if err != nil {
		return err
	}
	sums := ""
	for _, target := range targets {
		system, arch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("%q is no system; allowed: OS/ARCH, such as linux/amd64", target)
		}
		binary, err := build(version, system, arch)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		top := fmt.Sprintf("xoff-%s-%s-%s", version, system, arch)
		var packed bytes.Buffer
		if err := archive(&packed, top, append(common, file{"xoff", binary, true})); err != nil {
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

// build compiles the program for a system. What it names itself comes from the version
// alone: neither paths nor the state of a repository show in it.
func build(version, system, arch string) (binary []byte, err error) {
	temp, err := os.MkdirTemp("", "xoff-release-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	out := filepath.Join(temp, "xoff")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+stamp+"="+version, "-o", out, program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// commonFiles are what archives of all systems hold: texts, completions, man pages.
func commonFiles(root *cobra.Command, version string) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("not in the folder of the sources: %w", err)
		}
		files = append(files, file{name, data, false})
	}
	shells, err := completions(root)
	if err != nil {
		return nil, err
	}
	return append(append(files, shells...), manual(root, version)...), nil
}

// completions are the scripts that let shells complete commands, under the names by
// which shells find them.
func completions(root *cobra.Command) ([]file, error) {
	var files []file
	for _, shell := range []struct {
		name     string
		generate func(io.Writer) error
	}{
		{"completions/bash/xoff", func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"completions/zsh/_xoff", root.GenZshCompletion},
		{"completions/fish/xoff.fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
	} {
		var text bytes.Buffer
		if err := shell.generate(&text); err != nil {
			return nil, err
		}
		files = append(files, file{shell.name, text.Bytes(), false})
	}
	return files, nil
}
