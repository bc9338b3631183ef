//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// lock takes an advisory lock of an open folder. The system gives it back when the
// process ends, however it ends, so nothing stale is ever left behind.
func lock(folder *os.File) error {
	err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrBusy
	}
	return nil // a file system without locks is no reason not to write to it
}
