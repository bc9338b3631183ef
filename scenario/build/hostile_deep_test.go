//go:build deep

package build

import (
	"testing"

	"github.com/xoff-net/xoff/internal/deep"
)

func TestDeepHostileValues(t *testing.T) { hostileValues(t, deep.Cases) }

func TestDeepHostileWorkloads(t *testing.T) { hostileWorkloads(t, deep.Cases) }
