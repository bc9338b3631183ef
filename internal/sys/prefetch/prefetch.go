// Package prefetch asks the processor for memory that will be needed soon. The packets of
// a long queue have left the cache when their turn comes; a load that is early still makes
// what comes after it wait, a prefetch does not.
package prefetch

import "unsafe"

// Both fetches the cache lines that a and b are in. It changes nothing but the time that
// later loads take.
func Both[A, B any](a *A, b *B) { both(unsafe.Pointer(a), unsafe.Pointer(b)) }
