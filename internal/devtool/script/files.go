package script

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Fataler is the common interface of tests and scripts.
type Fataler interface {
	Fatalf(format string, args ...any)
}

// Differences returns the names of the first files that differ between two folders, also hidden
// ones.
func Differences(t Fataler, a, b string) string {
	left, right := tree(t, a), tree(t, b)
	var names []string
	for name, data := range left {
		if other, ok := right[name]; !ok || other != data {
			names = append(names, name)
		}
	}
	for name := range right {
		if _, ok := left[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	const most = 20
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// tree reads all files of a folder.
func tree(t Fataler, folder string) map[string]string {
	files := make(map[string]string)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil || d.IsDir() {
			files[name+"/"] = ""
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return files
}
