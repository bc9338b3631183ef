//go:build deep

package run_test

import (
	"testing"
)

// A small torus with more traffic than its links can carry: loops in rows, columns and
// squares block each other's exits. Rotating one loop alone frees no queue (in contrast to
// Roundabout section VII-A), and headroom lent to another queue must not keep a queue OFF.
func TestDeepRoundaboutInAMeshOfLoops(t *testing.T) {
	for _, seed := range []int{1, 4, 11, 45} {
		drains(t, mesh{seed, "1", "1/7", "0.9", "300us", "10KB", "1ms", "30ms"})
	}
}
