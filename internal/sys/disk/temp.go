package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Temp is a temporary folder of a running process.
type Temp struct {
	Folder string
	lock   *os.File
	once   sync.Once
	err    error
}

// NewTemp creates a folder PREFIX-tmp-NUMBER in dir. An empty dir is the system's
// temporary folder. NewTemp first removes such folders of processes that were
// killed: nobody locks them.
func NewTemp(dir, prefix string) (*Temp, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	prefix += "-tmp-"
	old, _ := os.ReadDir(dir) // without a folder, or the right to read it, nothing is removed
	for _, e := range old {
		if rest, ok := strings.CutPrefix(e.Name(), prefix); ok && strings.Trim(rest, "0123456789") == "" {
			removeAbandoned(filepath.Join(dir, e.Name()))
		}
	}
	for {
		folder, err := os.MkdirTemp(dir, prefix)
		if err != nil {
			return nil, err
		}
		f, err := os.Open(folder)
		if errors.Is(err, os.ErrNotExist) {
			continue // another process has taken it for an abandoned one
		} else if err != nil {
			return nil, errors.Join(err, os.Remove(folder))
		}
		_, err = lock(f)
		if _, missing := os.Lstat(folder); err != nil || missing != nil {
			_ = f.Close()
			continue
		}
		return &Temp{Folder: folder, lock: f}, nil
	}
}

// Remove removes the folder. Further calls return the result of the first.
func (t *Temp) Remove() error {
	t.once.Do(func() { t.err = errors.Join(os.RemoveAll(t.Folder), t.lock.Close()) })
	return t.err
}

// removeAbandoned removes a folder that no process locks. It does nothing where locks are
// unknown, or for folders of other users.
func removeAbandoned(folder string) {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() {
		return
	}
	f, err := os.Open(folder)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if locked, err := lock(f); locked && err == nil {
		_ = os.RemoveAll(folder)
	}
}
