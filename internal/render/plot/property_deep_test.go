//go:build deep

package plot

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func TestDeepAnyLine(t *testing.T) { trials.Check(t, anyLine) }

func TestDeepAnyFigure(t *testing.T) { trials.Check(t, anyFigure) }
