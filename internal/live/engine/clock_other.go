//go:build !linux

package engine

import (
	"runtime"
	"time"
)

func sleepExactly() { runtime.LockOSThread() }

func sleep(d time.Duration) { time.Sleep(d) }
