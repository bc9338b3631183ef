// Package disk writes files and folders atomically: after a crash or on a full device they
// are either complete or absent. Everything that writes results uses it.
package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TempPrefix begins the names of incomplete files and folders. Those that a crash leaves
// behind can be removed.
const TempPrefix = ".xoff-tmp-"

// Before is called, unless nil, before each "create" and "rename" of this package, with the
// path. Tests set it to end a process at a chosen moment; the product never does.
var Before func(op, path string)

func before(op, path string) {
	if Before != nil {
		Before(op, path)
	}
}

// sharedMark marks the names of files that one of several processes is writing to a shared
// folder. No name of a result contains it.
const sharedMark = "@"

// Aside returns a temporary name in the folder of path that no other process on any machine
// uses. The caller renames it to path when the file or folder is complete.
func Aside(path string) string {
	folder, name := filepath.Split(path)
	return filepath.Join(folder, fmt.Sprintf("%s%s%s%016x", TempPrefix, name, sharedMark, rand.Uint64()))
}

// IsAside reports whether Aside made the name: another process may be writing to it.
func IsAside(name string) bool {
	return strings.HasPrefix(name, TempPrefix) && strings.Contains(name, sharedMark)
}

// Prepare creates a folder and checks that it is writable, so that a long run fails before
// it starts.
func Prepare(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	// Write and sync a whole page: an empty file fits on a full device.
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

// Numbered returns name for n = 1 and name-n otherwise, for folders next to each other.
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

// ErrBusy means that another process is writing to the folder.
var ErrBusy = errors.New("another xoff is writing to this folder; fix: wait for it, or choose another folder with -o")

// Lock locks a folder against other processes until the caller closes the result. It returns
// ErrBusy if another process has the lock.
func Lock(folder string) (io.Closer, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	if _, err := lock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return f, nil
}

// WriteFile writes a file atomically: it replaces an older one only when all of it is on the
// device.
func WriteFile(path string, write func(io.Writer) error) error {
	return writeVia(filepath.Join(filepath.Dir(path), TempPrefix+filepath.Base(path)), path, write)
}

// WriteShared is WriteFile for a file that several processes, on several machines, may write
// at the same time. The last one to finish wins.
func WriteShared(path string, write func(io.Writer) error) error {
	return writeVia(Aside(path), path, write)
}

// writeVia writes temp and renames it to path.
func writeVia(temp, path string, write func(io.Writer) error) error {
	if err := Fill(temp, write); err != nil {
		_ = os.Remove(temp)
		if at, ok := errors.AsType[*fs.PathError](err); ok && at.Path == temp {
			at.Path = path // the temporary name means nothing to users
		}
		return err
	}
	if err := Rename(temp, path); err != nil {
		return err
	}
	Sync(filepath.Dir(path))
	return nil
}

// Rename renames a file or folder.
func Rename(from, to string) error {
	before("rename", to)
	return os.Rename(from, to)
}

// Fill writes a file and syncs it, without a temporary name. Use it in folders that are
// temporary themselves.
func Fill(path string, write func(io.Writer) error) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// File is a file that is being written. Close syncs it.
type File struct {
	*bufio.Writer
	f *os.File
}

func open(path string) (*File, error) {
	before("create", path)
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &File{bufio.NewWriter(f), f}, nil
}

// Close flushes, syncs and closes the file. It returns nil only if all of it is on the device.
func (f *File) Close() error {
	err := f.Flush()
	if err == nil {
		err = f.f.Sync()
	}
	return errors.Join(err, f.f.Close())
}

// Sync writes the directory entries of a folder to the device, so that a crash of the
// machine loses no name. Errors are ignored: not every system can do it.
func Sync(folder string) {
	if d, err := os.Open(folder); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// Stage collects the files of a folder in a temporary folder. Commit moves them into place.
type Stage struct {
	Folder string
	temp   string
	names  []string
	lock   io.Closer
}

// listName is the file that lists what the last Commit wrote. The next Commit removes the
// listed files that it does not replace, and leaves all others alone.
const listName = ".xoff-files"

// NewStage prepares and locks a folder. Its contents stay until Commit; the lock stays until
// Discard, which the caller must call.
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

// Create starts a file in the temporary folder. The caller closes it before Commit.
func (s *Stage) Create(name string) (*File, error) {
	f, err := open(filepath.Join(s.temp, name))
	if err == nil {
		s.names = append(s.names, name)
	}
	return f, err
}

// Aside returns the temporary folder that contains the files until Commit.
func (s *Stage) Aside() string { return s.temp }

// File writes one file to the temporary folder.
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

// Commit moves the files into the folder and removes the files of the last Commit that were
// not written this time. It removes the old version of the last created file first and
// moves the new one last: a folder that contains it is complete.
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
		if err := Rename(filepath.Join(s.temp, name), filepath.Join(s.Folder, name)); err != nil {
			return err
		}
	}
	Sync(s.Folder)
	return os.Remove(s.temp)
}

// outdated returns the files of the last Commit that were not written this time.
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

// Discard removes the temporary folder, if Commit has not, and unlocks the folder.
func (s *Stage) Discard() {
	_ = os.RemoveAll(s.temp)
	_ = s.lock.Close()
}
