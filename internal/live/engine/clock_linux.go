package engine

import (
	"runtime"
	"syscall"
	"time"
)

// prSetTimerslack is PR_SET_TIMERSLACK of prctl(2).
const prSetTimerslack = 29

// sleepExactly lets sleeps of this thread end when they should: by default Linux takes up
// to 50 us more, to wake several threads at once.
func sleepExactly() {
	runtime.LockOSThread()
	// Whoever may not do it is late, which is measured.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerslack, 1, 0)
}

// sleep is nanosleep(2): timers of the Go runtime end up to a millisecond late where
// nothing else happens.
func sleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // that it was interrupted is no matter: the caller looks at the clock
}
