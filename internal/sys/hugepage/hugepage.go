// Package hugepage asks the operating system to back the heap of the process with huge
// pages; commands that simulate call it.
//
// A simulation touches all of its state every few microseconds of simulated time, in an
// order that a processor cannot predict. With pages of 4 KiB it waits for TLB misses, above
// all in virtual machines, where each one takes two page walks. Most distributions give
// huge pages only to programs that ask, and Go's runtime does not ask.
package hugepage

import "sync"

// size limits the part of the heap in huge pages. Data beyond it, such as flows and results
// of large runs, is touched less often.
const size = 256 << 20

// Prefer asks for huge pages, once per process. Call it early, so that later allocations use
// them. It takes milliseconds, so only commands that simulate call it. It does nothing
// where the system has no huge pages. No result depends on it.
var Prefer = sync.OnceFunc(prefer)

// Gather moves the current heap into huge pages where Prefer had no effect: memory that was
// returned to the system in small pieces comes back in small pages. It does nothing before
// Prefer or where the system cannot do it. It takes milliseconds.
func Gather() { gather() }
