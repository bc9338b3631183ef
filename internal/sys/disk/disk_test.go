package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

var errFull = errors.New("no space left on device")

// full writes a few bytes, then fails like a full device.
func full(w io.Writer) error {
	_, _ = io.WriteString(w, "begin")
	return errFull
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, e := range entries {
		data, _ := os.ReadFile(filepath.Join(folder, e.Name()))
		got[e.Name()] = string(data)
	}
	return got
}

func check(t *testing.T, folder string, want ...string) {
	t.Helper()
	var list []string
	for name, data := range contents(t, folder) {
		list = append(list, name+":"+data)
	}
	slices.Sort(list)
	if !slices.Equal(list, want) {
		t.Errorf("%q, want %q", list, want)
	}
}

func TestWriteFileKeepsTheOldOneOnFailure(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	if err := WriteFile(path, text("old")); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, full); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	check(t, folder, "a:old")
	if err := WriteFile(path, text("new")); err != nil {
		t.Fatal(err)
	}
	check(t, folder, "a:new")
}

// Only one process at a time can write to a folder; two would remove each other's files.
func TestOneAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders cannot be locked on Windows")
	}
	folder := t.TempDir()
	s, err := NewStage(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewStage(folder); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	s.Discard()
	again, err := NewStage(folder)
	if err != nil {
		t.Fatal(err)
	}
	again.Discard()
}

func TestStage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "deep", "er")
	write := func(write func(io.Writer) error, names ...string) error {
		s, err := NewStage(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Discard()
		for _, n := range names {
			if err := s.File(n, write); err != nil {
				return err
			}
		}
		return s.Commit()
	}
	if err := write(text("1"), "flows", "csv", "summary"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "notes"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, folder, ".xoff-files:flows\ncsv\nsummary\n", "csv:1", "flows:1", "notes:mine", "summary:1")
	// A full device loses no older file.
	if err := write(full, "flows", "summary"); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	check(t, folder, ".xoff-files:flows\ncsv\nsummary\n", "csv:1", "flows:1", "notes:mine", "summary:1")
	// New results replace old ones, outdated files are removed, other files stay.
	if err := write(text("2"), "flows", "summary"); err != nil {
		t.Fatal(err)
	}
	check(t, folder, ".xoff-files:flows\nsummary\n", "flows:2", "notes:mine", "summary:2")
	// A list that was tampered with does not reach other folders.
	if err := os.WriteFile(filepath.Join(folder, listName), []byte("../er2\n..\n.\n\n/etc/x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(folder), "er2")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(text("3"), "summary"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(filepath.Join(file, "below")); err == nil {
		t.Error("no error for a folder below a file")
	}
	if err := Prepare(file); err == nil {
		t.Error("no error for a file in place of the folder")
	}
	if os.Getuid() == 0 {
		return // root may write anywhere
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(folder); err == nil {
		t.Error("no error for a folder without write permission")
	}
}

func TestNumbered(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		n    int
		want string
	}{{"a/b", 1, "a/b"}, {"a/b", 2, "a/b-2"}, {"a/b/", 11, "a/b-11"}, {".", 2, here + "-2"}, {"..", 3, filepath.Dir(here) + "-3"}} {
		if got := Numbered(c.name, c.n); got != filepath.FromSlash(c.want) {
			t.Errorf("%s, %d: got %s, want %s", c.name, c.n, got, c.want)
		}
	}
}
