//go:build !amd64 && !arm64

package prefetch

import "unsafe"

func both(a, b unsafe.Pointer) {}
