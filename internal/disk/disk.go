// Package disk writes files and folders that are either complete or not there,
// whatever happens to the process or to the space on the device.
package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// TempPrefix begins the names of files and folders that are not complete. What
// is left of them after a crash can be removed.
const TempPrefix = ".xoff-tmp-"

// Prepare creates a folder and checks that it takes files, so that a mistake
// shows before an hour of work rather than after it.
func Prepare(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	// A page, written through: a full device takes an empty file.
	path := filepath.Join(folder, TempPrefix+"probe")
	err := create(path, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 4096))
		return err
	})
	if err = errors.Join(err, os.RemoveAll(path)); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	return nil
}

// WriteFile writes a file. It appears under its name, in place of an older one,
// only when all of it is on the device.
func WriteFile(path string, write func(io.Writer) error) error {
	temp := filepath.Join(filepath.Dir(path), TempPrefix+filepath.Base(path))
	if err := create(temp, write); err != nil {
		_ = os.Remove(temp)
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	Sync(filepath.Dir(path))
	return nil
}

// create writes a file through to the device.
func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(f)
	err = write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
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
}

// NewStage prepares a folder; what is in it stays until Commit.
func NewStage(folder string) (*Stage, error) {
	if err := Prepare(folder); err != nil {
		return nil, err
	}
	temp := filepath.Join(folder, TempPrefix+"new")
	if err := os.RemoveAll(temp); err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	if err := os.Mkdir(temp, 0o755); err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	return &Stage{Folder: folder, temp: temp}, nil
}

// File writes one file aside.
func (s *Stage) File(name string, write func(io.Writer) error) error {
	if err := create(filepath.Join(s.temp, name), write); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	s.names = append(s.names, name)
	return nil
}

// Commit moves the files into the folder and removes those of outdated that were
// not written this time. The last file written is removed first and moved last:
// a folder that has it is complete. Other files stay as they are.
func (s *Stage) Commit(outdated ...string) error {
	last := s.names[len(s.names)-1]
	for _, name := range append([]string{last}, outdated...) {
		if err := os.Remove(filepath.Join(s.Folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, name := range s.names {
		if err := os.Rename(filepath.Join(s.temp, name), filepath.Join(s.Folder, name)); err != nil {
			return err
		}
	}
	Sync(s.Folder)
	return os.Remove(s.temp)
}

// Discard removes what was written aside. After Commit it does nothing.
func (s *Stage) Discard() { _ = os.RemoveAll(s.temp) }
