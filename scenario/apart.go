package scenario

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// apart is what a scenario of another machine may read here.
type apart struct {
	folder string
	beside []string
}

// ParseApart is Parse for a scenario that came from another machine. It reads no file
// of this one but those that came with it: names in the folder of the scenario, such as
// Standalone gives them.
func ParseApart(name string, data []byte, beside []string) (*Config, error) {
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	return parse(name, data, &apart{folder, beside}, nil)
}

// check refuses a file that did not come with the scenario.
func (a *apart) check(name string) error {
	if a == nil || slices.Contains(a.beside, name) {
		return nil
	}
	allowed := "none"
	if len(a.beside) > 0 {
		allowed = strings.Join(a.beside, ", ")
	}
	return fmt.Errorf("%q is a file of this machine, and the scenario is not; allowed: files that came with it (%s)", name, allowed)
}

// MayRead refuses files that are not the scenario's to read. Names are those that
// reading has made absolute.
func (c *Config) MayRead(path string) error {
	if c.apart == nil {
		return nil
	}
	folder, name := filepath.Split(path)
	if filepath.Clean(folder) != c.apart.folder {
		name = path
	}
	return c.apart.check(name)
}
