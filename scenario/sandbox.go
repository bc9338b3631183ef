package scenario

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// sandbox restricts the files that a scenario may read. A nil sandbox permits all files.
type sandbox struct {
	folder string   // absolute path
	files  []string // names in the folder
}

// ParseSandboxed parses a scenario from another machine. The scenario may read only the
// listed files, which are in its own folder, as Standalone names them.
func ParseSandboxed(name string, data []byte, files []string) (*Config, error) {
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	return parse(name, data, &sandbox{folder, files}, nil)
}

// check rejects a file that is not in the sandbox.
func (s *sandbox) check(name string) error {
	if s == nil || slices.Contains(s.files, name) {
		return nil
	}
	allowed := "none"
	if len(s.files) > 0 {
		allowed = strings.Join(s.files, ", ")
	}
	return fmt.Errorf("a scenario from another machine cannot read %q on this one (allowed: files sent with it: %s)", name, allowed)
}

// MayRead returns an error if the scenario may not read a file. Path is absolute, as Parse
// leaves it in a Config.
func (c *Config) MayRead(path string) error {
	if c.sandbox == nil {
		return nil
	}
	folder, name := filepath.Split(path)
	if filepath.Clean(folder) != c.sandbox.folder {
		name = path
	}
	return c.sandbox.check(name)
}
