// Package await lets tests wait for what other goroutines and processes do. Waiting ends with
// progress or with the deadline of the test, so a slow machine changes no outcome.
package await

import (
	"context"
	"testing"
	"time"
)

// margin is left before the deadline of a test for its message and its cleanup.
const margin = 5 * time.Second

// Until waits until done returns true. At the deadline of the test it fails with what it
// waited for.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx := Context(t)
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("not before the deadline: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Context returns a context that ends with the test, shortly before its deadline.
func Context(t *testing.T) context.Context {
	deadline, ok := t.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, stop := context.WithDeadline(t.Context(), deadline.Add(-margin))
	t.Cleanup(stop)
	return ctx
}
