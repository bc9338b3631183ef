//go:build deep

package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
)

func TestDeepRoundaboutRandomLoops(t *testing.T) { testRandomLoops(t, deep.Cases(1000)) }

func TestDeepRoundaboutConcurrentLoops(t *testing.T) { testConcurrentLoops(t, deep.Cases(200)) }
