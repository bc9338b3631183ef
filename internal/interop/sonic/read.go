package sonic

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is a switch as it was read, with the lookup file next to its configuration.
type Source struct {
	*Switch
	Lookup *Lookup // nil: there is no lookup file
}

// Read reads files and folders. Each file with a table PORT is a switch. Files without
// one, such as separate buffer and QoS files, are parts of a single switch. In a folder,
// Read reads every .json file, and the config_db.json of every subfolder.
func Read(paths []string) ([]*Source, error) {
	var files []string
	for _, p := range paths {
		list, err := expand(p)
		if err != nil {
			return nil, err
		}
		files = append(files, list...)
	}
	var whole, parts []*tables
	for _, name := range files {
		text, err := readFile(name)
		if err != nil {
			return nil, err
		}
		list, err := parseTables(name, text)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if len(t.rows["PORT"]) > 0 {
				whole = append(whole, t)
			} else {
				parts = append(parts, t)
			}
		}
	}
	switch {
	case len(whole) == 0:
		return nil, errorf(files[0], "no table PORT (expected a configuration, or its parts together with the file that has the ports)")
	case len(parts) > 0 && len(whole) > 1:
		return nil, errorf(parts[0].file, "no table PORT: this file could belong to any of %d switches (expected the parts of a single switch)", len(whole))
	}
	for _, p := range parts {
		whole[0].add(p)
	}
	return sources(whole)
}

// sources decodes the tables of several switches.
func sources(list []*tables) ([]*Source, error) {
	var all []*Source
	seen, lookups := map[string]string{}, map[string]*Lookup{}
	for _, t := range list {
		s, err := decode(t)
		if err != nil {
			return nil, err
		}
		if seen[s.Name] != "" {
			return nil, Location{t.file, "DEVICE_METADATA", "localhost", "hostname"}.Errorf("%q is already the name of the switch in %s (expected unique names)", shorten(s.Name), seen[s.Name])
		}
		seen[s.Name] = t.file
		src := &Source{Switch: s}
		lookupFile := filepath.Join(filepath.Dir(t.file), LookupName)
		if lookups[lookupFile] == nil {
			if _, err := os.Stat(lookupFile); err == nil {
				if lookups[lookupFile], err = ReadLookup(lookupFile); err != nil {
					return nil, err
				}
			}
		}
		src.Lookup = lookups[lookupFile]
		all = append(all, src)
	}
	slices.SortStableFunc(all, func(a, b *Source) int { return Natural(a.Name, b.Name) })
	return all, nil
}

// ReadLookup reads a lookup file.
func ReadLookup(name string) (*Lookup, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, err
	}
	return ParseLookup(name, string(text))
}

// Parse parses the configuration of one switch. It does not read other files.
func Parse(file string, text []byte) (*Switch, error) {
	list, err := parseTables(file, text)
	if err != nil {
		return nil, err
	}
	if len(list) > 1 {
		return nil, errorf(file, "%d chips (expected the configuration of one)", len(list))
	}
	return decode(list[0])
}

// add appends the tables of another file.
func (t *tables) add(o *tables) {
	for _, name := range o.names {
		if _, seen := t.rows[name]; !seen {
			t.names = append(t.names, name)
		}
		t.rows[name] = append(t.rows[name], o.rows[name]...)
	}
}

// nameOf derives a switch's name from its file name.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), ".json")
	if base == "config_db" {
		if dir := filepath.Base(filepath.Dir(file)); dir != "." && dir != string(filepath.Separator) {
			return dir
		}
	}
	return base
}

// expand lists the configurations at a path.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	var list []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		switch {
		case e.IsDir():
			inner := filepath.Join(name, "config_db.json")
			if _, err := os.Stat(inner); err == nil {
				list = append(list, inner)
			}
		case strings.HasSuffix(name, ".json"):
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return nil, errorf(path, "no configuration in this folder (expected files *.json, or folders with a config_db.json)")
	}
	SortNatural(list)
	return list, nil
}

func fileError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errorf(name, "file not found (expected a config_db.json, or a folder of them)")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return errorf(name, "%w", err)
}
