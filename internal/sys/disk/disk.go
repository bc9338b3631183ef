// Package disk writes files and folders that are either complete or not there,
// whatever happens to the process or to the space on the device.
package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TempPrefix begins the names of files and folders that are not complete. What
// is left of them after a crash can be removed.
const TempPrefix = ".xoff-tmp-"

// sharedMark is in the names of what one of many processes is writing to a folder that
// they share. No name of results has it.
const sharedMark = "@"

// Aside is a name beside a path that nobody else uses, on no machine: what is written
// under it can be renamed to the path when it is complete.
func Aside(path string) string {
	folder, name := filepath.Split(path)
	return filepath.Join(folder, fmt.Sprintf("%s%s%s%016x", TempPrefix, name, sharedMark, rand.Uint64()))
}

// IsAside reports whether a name is one of Aside: another process may be writing there.
func IsAside(name string) bool {
	return strings.HasPrefix(name, TempPrefix) && strings.Contains(name, sharedMark)
}

// Prepare creates a folder and checks that it takes files, so that a mistake
// shows before an hour of work rather than after it.
func Prepare(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	// A page, written through: a full device takes an empty file.
	path := Aside(filepath.Join(folder, "probe"))
	err := Fill(path, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 4096))
		return err
	})
	if err = errors.Join(err, os.RemoveAll(path)); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	return nil
}

// Numbered is NAME, NAME-2, NAME-3 and so on: folders beside each other.
func Numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	name = filepath.Clean(name)
	if base := filepath.Base(name); base == "." || base == ".." {
		if abs, err := filepath.Abs(name); err == nil {
			name = abs
		}
	}
	return fmt.Sprintf("%s-%d", name, n)
}

// ErrBusy means that another process writes to a folder.
var ErrBusy = errors.New("another xoff is writing there; allowed: to wait for it, or another folder with -o")

// Lock keeps other processes from writing to a folder until it is closed.
func Lock(folder string) (io.Closer, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return f, nil
}

// WriteFile writes a file. It appears under its name, in place of an older one,
// only when all of it is on the device.
func WriteFile(path string, write func(io.Writer) error) error {
	return writeBy(filepath.Join(filepath.Dir(path), TempPrefix+filepath.Base(path)), path, write)
}

// WriteShared is WriteFile for a file that several processes may write at the same
// time, on several machines: it is that of one of them, whole.
func WriteShared(path string, write func(io.Writer) error) error {
	return writeBy(Aside(path), path, write)
}

func writeBy(temp, path string, write func(io.Writer) error) error {
	if err := Fill(temp, write); err != nil {
		_ = os.Remove(temp)
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	Sync(filepath.Dir(path))
	return nil
}

// Fill writes a file through to the device, under its own name: it is for folders that
// are not complete either until they are renamed.
func Fill(path string, write func(io.Writer) error) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// File is a file that is being written.
type File struct {
	*bufio.Writer
	f *os.File
}

func open(path string) (*File, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &File{bufio.NewWriter(f), f}, nil
}

// Close returns nil when all of the file is on the device.
func (f *File) Close() error {
	err := f.Flush()
	if err == nil {
		err = f.f.Sync()
	}
	return errors.Join(err, f.f.Close())
}

// Sync makes the names in a folder last. Not every system can, so it is best
// effort: without it a crash of the machine, not of the program, may lose a name.
func Sync(folder string) {
	if d, err := os.Open(folder); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// Stage is a folder in the making: files are written aside, and Commit makes them
// the contents of the folder.
type Stage struct {
	Folder string
	temp   string
	names  []string
	lock   io.Closer
}

// listName is the file that lists what the last Commit wrote, so that the next
// one can remove what it does not replace and leave other files alone.
const listName = ".xoff-files"

// NewStage prepares a folder; what is in it stays until Commit. Until Discard no
// other process can do the same.
func NewStage(folder string) (*Stage, error) {
	if err := Prepare(folder); err != nil {
		return nil, err
	}
	lock, err := Lock(folder)
	if err != nil {
		return nil, err
	}
	temp := filepath.Join(folder, TempPrefix+"new")
	if err := errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o755)); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	return &Stage{Folder: folder, temp: temp, lock: lock}, nil
}

// Create begins a file aside. It must be closed before Commit.
func (s *Stage) Create(name string) (*File, error) {
	f, err := open(filepath.Join(s.temp, name))
	if err == nil {
		s.names = append(s.names, name)
	}
	return f, err
}

// Aside is the folder that files are in until Commit.
func (s *Stage) Aside() string { return s.temp }

// File writes one file aside.
func (s *Stage) File(name string, write func(io.Writer) error) error {
	f, err := s.Create(name)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

// Commit moves the files into the folder, and removes those of the last Commit
// that were not written this time. The last file that was begun is removed first
// and moved last: a folder that has it is complete.
func (s *Stage) Commit() error {
	if err := Fill(filepath.Join(s.temp, listName), func(w io.Writer) error {
		_, err := fmt.Fprintln(w, strings.Join(s.names, "\n"))
		return err
	}); err != nil {
		return err
	}
	for _, name := range append(s.names[len(s.names)-1:], s.outdated()...) {
		if err := os.Remove(filepath.Join(s.Folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, name := range append([]string{listName}, s.names...) {
		if err := os.Rename(filepath.Join(s.temp, name), filepath.Join(s.Folder, name)); err != nil {
			return err
		}
	}
	Sync(s.Folder)
	return os.Remove(s.temp)
}

// outdated lists the files of the last Commit that are not written this time.
func (s *Stage) outdated() []string {
	data, err := os.ReadFile(filepath.Join(s.Folder, listName))
	if err != nil {
		return nil
	}
	var old []string
	for name := range strings.SplitSeq(string(data), "\n") {
		if name == filepath.Base(name) && !strings.HasPrefix(name, ".") && !slices.Contains(s.names, name) {
			old = append(old, name)
		}
	}
	return old
}

// Discard removes what was written aside, after Commit nothing, and gives the
// folder free.
func (s *Stage) Discard() {
	_ = os.RemoveAll(s.temp)
	_ = s.lock.Close()
}
