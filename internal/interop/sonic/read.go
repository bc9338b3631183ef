package sonic

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is a switch as it was read, with the lookup file that lay beside it.
type Source struct {
	*Switch
	Lookup *Lookup // nil: there was none
}

// Read reads files and folders: each file that has ports is a switch; others
// (buffers and QoS apart from ports, as templates make them) belong to the one
// that has them. In a folder every .json file, and every config_db.json of a
// folder in it, is read.
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
		t := &tables{file: name, rows: map[string][]row{}}
		if err := t.parse(text); err != nil {
			return nil, err
		}
		if len(t.rows["PORT"]) > 0 {
			whole = append(whole, t)
		} else {
			parts = append(parts, t)
		}
	}
	switch {
	case len(whole) == 0:
		return nil, errorf(files[0], "there is no table PORT; allowed: a configuration, or its parts with one that has ports")
	case len(parts) > 0 && len(whole) > 1:
		return nil, errorf(parts[0].file, "there is no table PORT, and of %d switches it is not clear which one this belongs to; allowed: parts of one switch", len(whole))
	}
	for _, p := range parts {
		whole[0].add(p)
	}
	return sources(whole)
}

// sources decodes tables, each of one switch.
func sources(list []*tables) ([]*Source, error) {
	var all []*Source
	seen, lookups := map[string]string{}, map[string]*Lookup{}
	for _, t := range list {
		s, err := decode(t)
		if err != nil {
			return nil, err
		}
		if s.Name == "" {
			s.Name = nameOf(t.file)
		}
		if seen[s.Name] != "" {
			return nil, Place{t.file, "DEVICE_METADATA", "localhost", "hostname"}.Errorf("is %q, as in %s; allowed: a name for each switch", shorten(s.Name), seen[s.Name])
		}
		seen[s.Name] = t.file
		src := &Source{Switch: s}
		beside := filepath.Join(filepath.Dir(t.file), LookupName)
		if lookups[beside] == nil {
			if _, err := os.Stat(beside); err == nil {
				if lookups[beside], err = ReadLookup(beside); err != nil {
					return nil, err
				}
			}
		}
		src.Lookup = lookups[beside]
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

// Parse reads the configuration of one switch.
func Parse(file string, text []byte) (*Switch, error) {
	t := &tables{file: file, rows: map[string][]row{}}
	if err := t.parse(text); err != nil {
		return nil, err
	}
	s, err := decode(t)
	if err != nil {
		return nil, err
	}
	if s.Name == "" {
		s.Name = nameOf(file)
	}
	return s, nil
}

// add puts the tables of another file behind those of this one.
func (t *tables) add(o *tables) {
	for _, name := range o.names {
		if _, seen := t.rows[name]; !seen {
			t.names = append(t.names, name)
		}
		t.rows[name] = append(t.rows[name], o.rows[name]...)
	}
}

// nameOf makes a name of that of a file.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), ".json")
	if base == "config_db" {
		if dir := filepath.Base(filepath.Dir(file)); dir != "." && dir != string(filepath.Separator) {
			return dir
		}
	}
	return base
}

// expand lists the configurations that a path names.
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
		return nil, errorf(path, "there is no configuration in this folder; allowed: files *.json, or folders with a config_db.json")
	}
	SortNatural(list)
	return list, nil
}

func fileError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errorf(name, "there is no such file; allowed: a config_db.json, or a folder of them")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return errorf(name, "%w", err)
}
