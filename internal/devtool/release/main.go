// Command release makes the archives of a release: static programs, shell completions, man
// pages, third-party licences and bills of materials. The same sources, version and Go release
// give the same bytes on every machine.
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

// module is the path of this module.
const module = "github.com/xoff-net/xoff"

const allTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

// programs lists the programs in an archive.
var programs = []struct {
	name    string
	version string // variable that the linker sets
	command func() *cobra.Command
}{
	{"xoff", module + "/cli.release", cli.Command},
	{"xoff-hub", module + "/cmd/xoff-hub/hub.release", hub.Command},
}

func main() {
	version := flag.String("version", "", "`VERSION` that the programs report, such as v0.1.0")
	targets := flag.String("for", allTargets, "comma-separated `OS/ARCH` list to build for")
	folder := flag.String("o", "dist", "`FOLDER` for the archives")
	flag.Parse()
	if err := release(*version, strings.Split(*targets, ","), *folder); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// release writes an archive for each target, and SHA256SUMS with the checksums of all.
func release(version string, targets []string, folder string) (err error) {
	if version == "" || strings.ContainsAny(version, "/ ") {
		return fmt.Errorf("-version is %q (expected a name such as v0.1.0)", version)
	}
	if err := disk.Prepare(folder); err != nil {
		return err
	}
	common, err := commonFiles(version)
	if err != nil {
		return err
	}
	finder, err := newLicenceFinder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finder.close()) }()
	sums := ""
	for _, target := range targets {
		system, arch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("-for has a bad target: %q (expected OS/ARCH, such as linux/amd64)", target)
		}
		licences, err := finder.find(system, arch)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		texts, err := licenceFiles(licences)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		files := append(slices.Clone(common), texts...)
		for _, p := range programs {
			binary, err := build(p.name, p.version+"="+version, system, arch)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p.name, target, err)
			}
			bom, err := sbom(p.name, version, binary, licences)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p.name, target, err)
			}
			files = append(files, file{p.name, binary, true}, file{p.name + ".cdx.json", bom, false})
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

// buildEnv returns the environment for building for a system. Settings of this machine that
// would change the bytes are reset.
func buildEnv(system, arch string) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
}

// build compiles a program for a system and returns the binary. The linker sets its version;
// the binary contains no paths and no state of the repository.
func build(name, version, system, arch string) (binary []byte, err error) {
	temp, err := os.MkdirTemp("", "xoff-release-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	out := filepath.Join(temp, name)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+version, "-o", out, module+"/cmd/"+name)
	cmd.Env = buildEnv(system, arch)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// commonFiles returns the files that every archive contains: texts, completions, man pages.
func commonFiles(version string) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read a text of the release: %w; fix: run release in the root of the repository", err)
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

// completions returns the completion scripts for bash, zsh and fish, under the names by which
// the shells find them.
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
