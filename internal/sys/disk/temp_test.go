package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Temporary folders of killed processes are removed by the next start; folders of running
// processes and other files stay.
func TestTemp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks of folders")
	}
	dir := t.TempDir()
	for _, name := range []string{"x-tmp-1/below", "x-tmp-2", "x-tmp-notes", "x-3"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "x-tmp-4"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := NewTemp(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewTemp(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	number := func(p *Temp) string { return strings.TrimPrefix(filepath.Base(p.Folder), "x-tmp-") }
	if got := contents(t, dir); len(got) != 5 || a.Folder == b.Folder || number(a) == "" {
		t.Errorf("%v", got)
	}
	for range 2 {
		if err := a.Remove(); err != nil {
			t.Error(err)
		}
	}
	if err := b.Remove(); err != nil {
		t.Error(err)
	}
	check(t, dir, "x-3:", "x-tmp-4:", "x-tmp-notes:")
	if _, err := NewTemp(filepath.Join(dir, "none"), "x"); err == nil {
		t.Error("no error in a folder that does not exist")
	}
}
