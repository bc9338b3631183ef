//go:build deep

package examples_test

import "testing"

func TestDeepHashes(t *testing.T) { compareHashes(t, true) }
