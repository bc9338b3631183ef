package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// licenceTool finds the licences of packages. It is installed from the module proxy and is
// no dependency of this module.
const licenceTool = "github.com/google/go-licenses@v1.6.0"

// licence is the licence of a module, or of a part of one.
type licence struct {
	name string // import path of the packages that it covers
	id   string // SPDX identifier
	path string // file with its text
}

// licenceFinder runs licenceTool.
type licenceFinder struct{ folder, tool string }

// newLicenceFinder installs licenceTool into a temporary folder.
func newLicenceFinder() (*licenceFinder, error) {
	folder, err := os.MkdirTemp("", "xoff-release-")
	if err != nil {
		return nil, err
	}
	f := &licenceFinder{folder, filepath.Join(folder, "go-licenses")}
	cmd := exec.Command("go", "install", licenceTool)
	cmd.Env = append(os.Environ(), "GOBIN="+folder, "GOOS=", "GOARCH=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", licenceTool, err), f.close())
	}
	return f, nil
}

func (f *licenceFinder) close() error { return os.RemoveAll(f.folder) }

// find returns the licences of all third-party packages in the programs for a system.
func (f *licenceFinder) find(system, arch string) ([]licence, error) {
	template := filepath.Join(f.folder, "template")
	if err := os.WriteFile(template, []byte("{{range .}}{{.Name}}\t{{.LicenseName}}\t{{.LicensePath}}\n{{end}}"), 0o600); err != nil {
		return nil, err
	}
	args := []string{"report", "--ignore", module, "--template", template}
	for _, p := range programs {
		args = append(args, module+"/cmd/"+p.name)
	}
	cmd := exec.Command(f.tool, args...)
	cmd.Env = buildEnv(system, arch)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log // the log warns about assembly and unreachable hosts
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", licenceTool, err, log.Bytes())
	}
	return parseLicences(out.String())
}

// parseLicences parses the lines NAME, ID and PATH that licenceTool prints.
func parseLicences(text string) ([]licence, error) {
	var list []licence
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 3 || parts[2] == "" || parts[1] == "" || parts[1] == "Unknown" {
			return nil, fmt.Errorf("no licence found: %q (expected a name, an SPDX identifier and a file)", strings.TrimSpace(line))
		}
		list = append(list, licence{parts[0], parts[1], parts[2]})
	}
	if len(list) == 0 {
		return nil, errors.New("no licences found")
	}
	return list, nil
}

// licenceFiles returns the texts of licences, and of notices beside them, which some
// licences demand as well.
func licenceFiles(list []licence) ([]file, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	list = append(slices.Clone(list), licence{"go", "BSD-3-Clause", filepath.Join(strings.TrimSpace(string(out)), "LICENSE")})
	var files []file
	for _, l := range list {
		paths, err := filepath.Glob(filepath.Join(filepath.Dir(l.path), "NOTICE*"))
		if err != nil {
			return nil, err
		}
		for _, p := range append(paths, l.path) {
			data, err := os.ReadFile(p)
			if err != nil {
				return nil, err
			}
			files = append(files, file{path.Join("licenses", l.name, filepath.Base(p)), data, false})
		}
	}
	return files, nil
}
