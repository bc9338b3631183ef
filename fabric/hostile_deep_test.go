//go:build deep

package fabric

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepHostileValues(t *testing.T) { hostileValues(t, trials.First) }

func TestDeepHostileWorkloads(t *testing.T) { hostileWorkloads(t, trials.First) }
