//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// lock takes an advisory lock on an open folder, or returns ErrBusy. The kernel releases the
// lock when the process ends, so there are no stale locks. It reports false on file systems
// without locks, which are written to without one.
func lock(folder *os.File) (bool, error) {
	err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, ErrBusy
	}
	return err == nil, nil
}
