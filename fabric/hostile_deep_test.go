//go:build deep

package fabric

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/deep"
)

func TestDeepHostileValues(t *testing.T) { hostileValues(t, deep.Cases) }

func TestDeepHostileWorkloads(t *testing.T) { hostileWorkloads(t, deep.Cases) }
