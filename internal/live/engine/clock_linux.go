package engine

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleepExactly locks the goroutine to its thread and sets the thread's timer slack to 1 ns. The
// default is 50 us.
func sleepExactly() {
	runtime.LockOSThread()
	// If this fails, sleeps are later, which is measured.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0)
}

// briefly is the longest sleep of which the scheduler of the Go runtime is not told. Telling it
// costs more than the sleep: it looks for other work and wakes threads to do it.
const briefly = time.Millisecond

// telling reports whether the scheduler is told about a sleep. It must be if other goroutines need
// the processor.
func telling(d time.Duration) bool { return d > briefly || runtime.GOMAXPROCS(0) == 1 }

// sleep calls nanosleep(2): timers of the Go runtime can be a millisecond late when it is idle. An
// interrupted sleep is harmless: the caller checks the clock.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	if telling(d) {
		_ = unix.Nanosleep(&t, nil)
		return
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}
