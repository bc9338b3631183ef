//go:build linux

package hugepage

import (
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// collapse is MADV_COLLAPSE of Linux 6.1, which package syscall does not have.
const collapse = 25

// large is the size of a large page, on most machines.
const large = 2 << 20

// wished is where the memory begins that prefer has set its wish on, 0 for none. It is an
// address and no pointer: the heap has that memory back.
var wished atomic.Uintptr

// prefer sets the wish on memory that the heap has taken and not touched yet, and gives
// it back to the heap: the wish stays with the addresses, and the heap fills from its
// lowest ones.
func prefer() {
	// The heap cannot refuse memory without ending the process: where the system counts
	// what is never touched, too, there may be less.
	probe, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil || syscall.Munmap(probe) != nil {
		return
	}
	// make would clear memory that the heap has used a part of before, and so take all of
	// it from the system; a builder does not.
	var b strings.Builder
	b.Grow(size)
	_ = b.WriteByte(0)
	memory := unsafe.Slice(unsafe.StringData(b.String()), size)
	if syscall.Madvise(memory, syscall.MADV_HUGEPAGE) == nil { // a kernel without them refuses
		wished.Store(uintptr(unsafe.Pointer(&memory[0])))
	}
	debug.FreeOSMemory()
}

// gather asks page by page: the kernel would end at the first one that it cannot make.
func gather() {
	from := wished.Load()
	if from == 0 {
		return
	}
	for at := (from + large - 1) &^ (large - 1); at+large <= from+size; at += large {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, at, large, collapse) // nothing there, or too old a kernel
	}
}
