//go:build linux

package hugepage

import (
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// collapse is MADV_COLLAPSE (Linux 6.1), which package syscall lacks.
const collapse = 25

// large is the size of a huge page on most machines.
const large = 2 << 20

// advised is the start of the memory for which prefer requested huge pages, or 0. It is an
// address, not a pointer: the memory belongs to the heap again.
var advised atomic.Uintptr

// prefer allocates memory from the heap, advises the kernel to use huge pages for it, and
// frees it untouched. The advice stays with the addresses, and the heap reuses the lowest
// addresses first.
func prefer() {
	// The runtime ends the process if an allocation fails, so check first whether the system
	// has the memory: some systems count memory that is never touched.
	probe, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil || syscall.Munmap(probe) != nil {
		return
	}
	// make would clear memory that the heap has used in part before, and so touch all of it;
	// a builder does not.
	var b strings.Builder
	b.Grow(size)
	_ = b.WriteByte(0)
	memory := unsafe.Slice(unsafe.StringData(b.String()), size)
	if syscall.Madvise(memory, syscall.MADV_HUGEPAGE) == nil { // fails if the kernel has no huge pages
		advised.Store(uintptr(unsafe.Pointer(&memory[0])))
	}
	debug.FreeOSMemory()
}

// gather collapses page by page: one call for all would stop at the first failure.
func gather() {
	from := advised.Load()
	if from == 0 {
		return
	}
	for at := (from + large - 1) &^ (large - 1); at+large <= from+size; at += large {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, at, large, collapse) // fails on unmapped pages and on older kernels
	}
}
