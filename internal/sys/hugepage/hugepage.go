// Package hugepage asks the operating system to keep the heap of the process in large
// pages. A simulation touches all of its state every few microseconds of simulated time,
// in no order that a processor could foresee: with pages of 4 KiB it waits for
// translations of addresses, above all in virtual machines, where each takes two walks.
// Most distributions give large pages only to programs that ask, and Go's runtime does
// not.
package hugepage

import "sync"

// size bounds how much of the heap is large pages: what lies beyond it, flows and results
// of large runs, is touched less often.
const size = 256 << 20

// Prefer asks for large pages, once in the life of a process: the earlier, the more of what
// it allocates lies in them. It takes milliseconds, so only who simulates calls it. Where
// the system has none it does nothing. No result depends on it.
var Prefer = sync.OnceFunc(prefer)

// Gather puts what the heap holds by now into large pages where Prefer's wish came to
// nothing: memory that went back to the system in small pieces comes back in small pages.
// Without Prefer, or where the system cannot, it does nothing. It takes milliseconds.
func Gather() { gather() }
