package prefetch

import "unsafe"

// Line loads the cache line at p.
//
//go:noescape
func Line(p unsafe.Pointer)
