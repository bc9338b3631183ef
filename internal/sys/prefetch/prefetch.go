// Package prefetch loads memory into the cache before it is needed; the dataplane uses it for
// packets of long queues, which have left the cache when their turn comes. Unlike an early
// load, a prefetch does not stall the instructions after it.
package prefetch

import "unsafe"

// Both prefetches the cache lines of a and b, which may be invalid addresses. It affects
// only the time of later loads.
func Both[A, B any](a *A, b *B) { both(unsafe.Pointer(a), unsafe.Pointer(b)) }
