//go:build linux

package hugepage

import (
	"runtime/debug"
	"syscall"
)

// prefer sets the wish on memory that the heap has taken and not touched yet, and gives
// it back to the heap: the wish stays with the addresses, and the heap fills from its
// lowest ones.
func prefer(bytes int) {
	// The heap cannot refuse memory without ending the process: where the system counts
	// what is never touched, too, there may be less.
	probe, err := syscall.Mmap(-1, 0, 2*bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil || syscall.Munmap(probe) != nil {
		return
	}
	_ = syscall.Madvise(make([]byte, bytes), syscall.MADV_HUGEPAGE) // a kernel without them refuses
	debug.FreeOSMemory()
}
